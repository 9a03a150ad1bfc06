// Tools that packages bring are known by their form, not by their names.

// A queue of downloads: its query can list a queue; the tool that acts on it has the same first name.
export function queueTool(session) {
  const query = session.tools.find((tool) => choices(tool, "query_type").includes("queue"));
  const action = query && session.tools.find((tool) => tool !== query && firstName(tool) === firstName(query) && choices(tool, "action").includes("retry"));
  return query && {query: query.name, action: action?.name, states: choices(query, "state")};
}

// Tools that can undo a call by its id.
export function undoTools(session) {
  return session.tools.filter((tool) => choices(tool, "action").includes("undo")).map((tool) => tool.name);
}

export function choices(tool, name) {
  return tool.inputSchema.properties?.[name]?.enum ?? [];
}

function firstName(tool) {
  return tool.name.split(/[._]/u)[0];
}
