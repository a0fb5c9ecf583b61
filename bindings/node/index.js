// The same module for `import`: the program runs once, whichever way it is loaded.
import repertoire from "./index.cjs";

export const { EngineError, Library, RepertoireError, Session, ToolError, defineSkill, defineTool } = repertoire;
