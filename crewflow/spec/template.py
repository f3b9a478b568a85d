"""Text with `${{ }}` in it."""
