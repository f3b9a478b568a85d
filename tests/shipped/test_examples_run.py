"""The example workflows that ship with crewflow, each run by the real program in a project of its own."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "workflows" / "examples"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
PAGE = CHECKOUT / "docs" / "examples.md"

SOURCE = re.compile(r"^# Translated from ([^:\n]+): \S[^\n]*\n# (https://\S+)$", re.MULTILINE)
ROW = re.compile(
    r"^\| \[`([^`]+)`\]\(([^)]+)\) \| ([^|]+) \| \[([^\]]+)\]\(([^)]+)\) \|$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Trial:
    """One run of an example: what is given, and what must be so afterwards.

    `holds`: path below `build/<name>` -> text that the file has in it; `lacks`: what must not be there.
    """

    name: str
    title: str
    inputs: tuple[str, ...] = ()
    before: dict[str, str] = field(default_factory=dict)
    code: int = 0
    times: int = 1
    states: dict[str, str] = field(default_factory=dict)
    holds: dict[str, str] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()


TRIALS = [
    Trial(
        "article-etl",
        "a page that was cut off is fetched again",
        states={"fetch[0]": "succeeded", "fetch[1]": "succeeded", "load": "succeeded"},
        holds={"articles.csv": "id,title,user_name,tags\n10,Article 10,ada,etl|page-1\n11,"},
    ),
    Trial(
        "article-etl",
        "a page that does not exist is not",
        inputs=("pages=[1, 6]",),
        code=1,
        states={"fetch[0]": "succeeded", "fetch[1]": "failed", "load": "skipped"},
        lacks=("articles.csv",),
    ),
    Trial(
        "backup-with-status",
        "too many bundles are pruned",
        inputs=("keep=1",),
        times=2,
        states={"prune": "succeeded", "alarm": "skipped"},
        holds={"status.txt": "bundle  succeeded\nverify  succeeded\nprune   succeeded\n"},
        lacks=("alarm.txt",),
    ),
    Trial(
        "backup-with-status",
        "a failed bundle leaves an alarm",
        inputs=("branch=nowhere",),
        code=1,
        states={"bundle": "failed", "verify": "skipped", "prune": "skipped", "alarm": "succeeded"},
        holds={
            "alarm.txt": "run     failed\nbundle  failed\nverify  skipped\nprune   skipped\nfailed: bundle\n"
        },
    ),
    Trial(
        "best-compression",
        "the smallest archive of a long log is kept",
        states={"try[0]": "succeeded", "try[2]": "succeeded", "prove": "succeeded"},
        holds={"access.lzma": ""},
        lacks=("access.log", "access.gzip", "access.bz2"),
    ),
    Trial(
        "best-compression",
        "of a short log it is another one",
        inputs=("lines=1",),
        states={"keep": "succeeded"},
        holds={"access.gzip": ""},
        lacks=("access.log", "access.bz2", "access.lzma"),
    ),
    Trial(
        "build-changed",
        "what did not change is not built",
        states={"service[0]/smoke": "succeeded", "service[1]/smoke": "succeeded", "summary": "succeeded"},
        holds={"built.txt": "api 1.1\nsearch 1.1\n"},
        lacks=("packages/mailer.tar",),
    ),
    Trial(
        "city-histograms",
        "each country has its drawing",
        inputs=('countries=["de", "pl"]',),
        states={"country[de]/draw": "succeeded", "country[pl]/draw": "succeeded"},
        holds={"index.html": "<h2>de: 4 cities</h2>\n<svg ", "plots/pl.svg": 'y="30" width="16" height="30"'},
        lacks=("plots/fr.svg",),
    ),
    Trial(
        "fetch-with-fallback",
        "a busy mirror is asked again",
        states={"primary": "succeeded", "mirror": "succeeded", "on-failure": "skipped"},
        holds={"data.csv": "1,ada", "status.txt": "2 rows, mirror asked 3 times\n"},
    ),
    Trial(
        "fetch-with-fallback",
        "no mirror is asked where the source answers",
        inputs=("primary_up=true",),
        states={"primary": "succeeded", "mirror": "skipped", "verify": "succeeded"},
        holds={"status.txt": "2 rows, mirror asked 0 times\n"},
    ),
    Trial(
        "fetch-with-fallback",
        "a mirror that stays busy fails the run",
        inputs=("busy=9",),
        code=1,
        states={"mirror": "failed", "verify": "skipped", "on-success": "skipped", "on-failure": "succeeded"},
        holds={"status.txt": "no data: mirror failed with exit code 75\n"},
    ),
    Trial(
        "map-reduce",
        "all parts are counted",
        inputs=("text=poem.txt", "lines_per_part=2", "top=2"),
        before={"poem.txt": "The sun, the sea\nThe SUN\nno sea\nthe end\nthe\n"},
        states={"map[0]": "succeeded", "map[2]": "succeeded", "reduce": "succeeded"},
        holds={"top.json": '{"the": 5, "sea": 2}'},
    ),
    Trial(
        "python-pages",
        "the step's environment wins, and the pages are published",
        states={"pages": "succeeded"},
        holds={
            "public/built-with.txt": "PYTHONWARNINGS was default here and is error elsewhere\n",
            "public/shapes.html": ">square</a>",
        },
        lacks=("scratch/*",),
    ),
    Trial(
        "python-pages",
        "another branch is built and not published",
        inputs=("branch=fix",),
        states={"package": "succeeded", "pages": "skipped"},
        lacks=("public",),
    ),
    Trial(
        "release-train",
        "a call gives back what the innermost made",
        inputs=("version=2.0.1",),
        states={"server/sign/digest": "succeeded", "client/pack": "succeeded", "manifest": "succeeded"},
        holds={"manifest.txt": "  build/release-train/client.pyz\n", "server/__main__.py": "server 2.0.1"},
    ),
    Trial(
        "reproducible-build",
        "both builds are the same",
        states={"first": "succeeded", "second": "succeeded", "compare": "succeeded"},
        holds={"dist/app.pyz.sha256": "  app.pyz\n", "elsewhere/two/app.pyz": "PK"},
    ),
    Trial(
        "required-checks",
        "one step speaks for all checks",
        states={
            "tests[other]": "succeeded",
            "coverage-report": "skipped",
            "required-checks-pass": "succeeded",
        },
        holds={"coverage/unknown-source.json": "["},
        lacks=("too-low.txt",),
    ),
    Trial(
        "required-checks",
        "coverage below the limit fails it and is reported",
        inputs=("minimum=100",),
        code=1,
        states={"coverage": "failed", "docs": "succeeded", "required-checks-pass": "failed"},
        holds={"too-low.txt": "coverage is below 100 %: "},
    ),
    Trial(
        "sales-report",
        "the report is of the defaults",
        states={"write": "succeeded", "empty": "skipped"},
        holds={"report.txt": "| customer | net | mark |\n|---|---:|---|\n| Adler | 631.80 | large |\n"},
    ),
    Trial(
        "sales-report",
        "every input has its part in the report",
        inputs=(
            "title=Alle",
            "period=2026-01",
            "format=csv",
            "top=2",
            "tax=0.5",
            "refunds=true",
            "regions=south",
            "regions=west",
            'marks={"high": 400, "low": 30}',
            "note=checked",
        ),
        states={"write": "succeeded"},
        holds={"report.txt": "customer,net,mark\nDune,450.00,large\nAdler,40.00,\n"},
    ),
    Trial(
        "sales-report",
        "a period without sales is no failure",
        inputs=("period=2026-12",),
        states={"write": "skipped", "empty": "succeeded"},
        holds={"report.txt": "no sales in 2026-12\n"},
    ),
    Trial(
        "site-channels",
        "each channel is deployed",
        inputs=("deploy=true",),
        states={"channel[next]/check": "succeeded", "channel[latest]/deploy": "succeeded"},
        holds={
            "server/next/index.html": "<h1>Start</h1><p>Crew handbook, next</p>",
            "server/latest/usage.html": "Crew handbook, latest",
        },
    ),
    Trial(
        "split-tests",
        "every test is run once",
        states={f"worker[{number}]": "succeeded" for number in range(4)},
        holds={"result.txt": "8 passed, " + " ".join(f"test_{number}.py" for number in range(1, 9)) + "\n"},
    ),
    Trial(
        "split-tests",
        "a test that fails ends the run",
        before={"build/split-tests/suite/test_9.py": "def test():\n    raise AssertionError\n"},
        code=9,
        states={"result": "cancelled"},
        lacks=("result.txt",),
    ),
    Trial(
        "test-matrix",
        "each leg has its mode, and a known failure is shown",
        states={
            "test[plain,random]": "succeeded",
            "test[optimized,42]": "succeeded",
            "test[isolated,0]": "succeeded",
        },
        holds={"summary.txt": "exit codes in order of the legs: [0,0,0,0,0,0,1,1,0]\n"},
    ),
]


EVERYWHERE = {"build", "workflows", "crewflow.yaml", ".crewflow"}
"""What may stand in the project after a run, beside what a trial puts there."""


@pytest.fixture
def with_example(project):
    """Makes a project that holds one example."""
    settings = "kind: project\nname: demo\n"
    return lambda name: project(
        {"workflows/it.yaml": FILES[name].read_text("utf-8"), "crewflow.yaml": settings}
    )


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: f"{trial.name}: {trial.title}")
def test_an_example_does_what_it_says(trial, with_example):
    here = with_example(trial.name).write(trial.before)
    given = [word for pair in trial.inputs for word in ("-i", pair)]

    for _ in range(trial.times):
        done = here.run("apply", trial.name, *given)
        assert done.code == trial.code, done
    states = here.states()
    assert {task: states.get(task) for task in trial.states} == trial.states
    build = here.root / "build" / trial.name
    for name, text in trial.holds.items():
        assert text in (build / name).read_text(encoding="utf-8", errors="replace")
    assert [found for name in trial.lacks for found in build.glob(name)] == []
    assert {path.name for path in here.root.iterdir()} <= EVERYWHERE | trial.before.keys()
    assert [path.name for path in (here.root / "build").iterdir()] == [trial.name]


def test_the_examples_have_no_fault_beside_each_other_and_each_can_be_planned(project):
    here = project({f"workflows/{name}.yaml": path.read_text("utf-8") for name, path in FILES.items()})
    done = here.run("validate", "--strict")

    assert (done.code, done.out) == (0, ""), done
    for name in FILES:
        assert here.run("plan", name, "-q").code == 0, name


@pytest.mark.parametrize(
    "wrong",
    ["period=May", "format=pdf", "top=0", "tax=2", "refunds=yes", 'regions=["mars"]', "marks=7"],
)
def test_a_wrong_input_is_refused_by_name_before_anything_runs(wrong, with_example):
    here = with_example("sales-report")
    done = here.run("apply", "sales-report", "-i", wrong)

    assert done.code == 2
    assert f"input `{wrong.split('=')[0]}" in done.err
    assert here.run_ids == []


def test_the_whole_folder_is_tried():
    assert {trial.name for trial in TRIALS} == FILES.keys()


@pytest.mark.parametrize("path", FILES.values(), ids=FILES)
def test_an_example_has_its_schema_its_source_and_its_descriptions(path):
    text = path.read_text(encoding="utf-8")
    documents = list(yaml.safe_load_all(text))

    assert text.startswith("# yaml-language-server: $schema=../../schemas/workflow.schema.json\n#\n")
    assert len(SOURCE.findall(text.partition("\nkind:")[0])) == 1
    assert documents[0]["name"] == path.stem
    assert all(document["kind"] == "workflow" and document["description"] for document in documents)
    assert all("description" in each for doc in documents for each in doc.get("inputs", {}).values())


def test_the_examples_come_from_many_tools():
    tools = Counter(source_of(name)[0] for name in FILES)

    assert tools["GitHub Actions"] >= 3
    assert tools.keys() >= {"Argo Workflows", "Apache Airflow", "Dagu", "Digdag", "Task", "GitLab CI"}
    assert tools.keys() >= {"CircleCI", "Tekton", "Snakemake", "Prefect", "just"}


def test_the_page_has_a_row_for_each_file_with_where_it_comes_from():
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))

    assert [row[0] for row in rows] == list(FILES)
    for name, link, shows, tool, url in rows:
        assert (PAGE.parent / link).resolve() == FILES[name]
        assert shows.strip()
        assert (tool, url) == source_of(name)


def source_of(name):
    """The tool that an example was translated from, and the address of the file."""
    return SOURCE.search(FILES[name].read_text(encoding="utf-8")).groups()
