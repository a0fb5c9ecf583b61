"""What every client must find in the library."""

SKILLS = ["csv-report", "pdf-forms", "release-notes"]
TOOLS = ["load_skill", "read_skill_file"]
FILES = 7
BODY_START = "# CSV report\n\nBegin the answer with the word BANANA"
