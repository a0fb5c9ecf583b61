"""What every client must find in the library."""

SKILLS = ["csv-report", "pdf-forms", "release-notes"]
TOOLS = ["list_skill_files", "list_skills", "load_skill", "propose_skill", "propose_skill_update", "read_skill_file", "search_skills"]
FILES = 7
BODY_START = "# CSV report\n\nBegin the answer with the word BANANA"
