"""What there is, as a user asks for it."""

FILES = {
    "crewflow.yaml": "kind: project\nname: p\n",
    "workflows/w.yaml": "kind: workflow\nname: review\ndescription: Ours\nsteps: {a: {run: 'true'}}\n",
    "teams/t.yaml": "kind: team\nname: pair\nworkflow: review\nroles: {one: {}, two: {access: full}}\n",
    "agents/a.yaml": (
        "kind: agent\nname: ours\nbin: helper\ninstall: get helper\nargv: ['{bin}']\naccess: {full: []}\n"
        "output: {format: text, result: {get: /text}}\n"
    ),
    "schedules/s.yaml": "kind: schedule\nname: nightly\nworkflow: review\ncron: 0 2 * * *\nenabled: false\n",
}


def row(done, name):
    (found,) = [line for line in done.out.splitlines() if line.split()[0] == name]
    return found.split()


def test_workflows_are_listed_once_each_those_of_the_project_first(project):
    done = project(FILES).run("workflows")
    names = [line.split()[0] for line in done.out.splitlines()]

    assert done.code == 0
    assert names[:2] == ["name", "review"]
    assert names.count("review") == 1
    assert row(done, "review") == ["review", "project", "-", "-", "Ours"]
    assert row(done, "fast-fix")[:3] == ["fast-fix", "shipped", "fast-fix"]


def test_teams_are_listed_with_their_roles(project):
    done = project(FILES).run("teams")

    assert row(done, "pair") == ["pair", "project", "review", "one,", "two", "-"]
    (pair,) = [team for team in project(FILES).run("teams", "--json").json["teams"] if team["name"] == "pair"]
    assert [(role["name"], role["access"]) for role in pair["roles"]] == [
        ("one", "read_only"),
        ("two", "full"),
    ]


def test_agents_are_listed_with_where_their_program_is(project):
    here = project(FILES)
    assert row(here.run("agents", "list"), "ours") == ["ours", "project", "no", "full"]
    program = here.root / "helper"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = here.run("agents", "list", env={"PATH": str(here.root)})

    assert row(done, "ours") == ["ours", "project", str(program), "full"]
    assert row(done, "scaffold")[2:4] == ["built", "in"]


def test_a_folder_of_the_user_is_told_apart(project, tmp_path):
    folder = tmp_path / "home" / ".config" / "crewflow" / "workflows"
    folder.mkdir(parents=True)
    (folder / "m.yaml").write_text("kind: workflow\nname: mine\nsteps: {a: {run: 'true'}}\n")

    assert row(project(FILES).run("workflows"), "mine")[1] == "user"


def test_schedules_are_listed_with_a_word_about_who_starts_them(project):
    done = project(FILES).run("schedule", "list")

    assert row(done, "nightly")[:4] == ["nightly", "project", "review", "cron"]
    assert row(done, "nightly")[-2:] == ["UTC", "no"]
    assert "not available in this version" in done.err
    (listed,) = project(FILES).run("schedule", "list", "--json").json["schedules"]
    assert (listed["when"], listed["enabled"]) == ("cron 0 2 * * * UTC", False)


def test_files_with_faults_are_spoken_of_and_the_rest_is_listed(project):
    done = project({**FILES, "teams/u.yaml": "kind: team\nname: u\nrolse: {}\n"}).run("teams")

    assert done.code == 0
    assert row(done, "pair")
    assert "see `crewflow validate`" in done.err


def test_where_there_is_nothing_that_is_said(project):
    done = project({"crewflow.yaml": "kind: project\nname: p\n"}).run("schedule", "list")

    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("there are no schedules here\n")


def test_a_word_that_is_no_action_has_a_hint(project):
    done = project(FILES).run("agents", "lits")

    assert (done.code, done.err) == (2, "error: there is no `agents lits`\nhint: did you mean `list`?\n")


def test_schemas_of_all_kinds_are_printed(project):
    here = project(FILES)
    for kind in here.run("schema").out.split():
        assert here.run("schema", kind).json["title"] == kind
