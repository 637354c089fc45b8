// The schema of definition files, for JSON files while no server checks them: with one, every mistake
// would be told twice.

import { EventEmitter, Uri, workspace, type Disposable } from "vscode";
import type { Server } from "./client";

const SCHEME = "hookwire-schema";

export function provide(server: Server, extension: Uri): Disposable {
  const uri = Uri.from({ scheme: SCHEME, path: "/definitions.json" });
  const changes = new EventEmitter<Uri>();
  let wasRunning = false;
  server.onDidChange(() => {
    const isRunning = server.stage === "running";
    if (isRunning !== wasRunning) changes.fire(uri);
    wasRunning = isRunning;
  });
  return workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changes.event,
    provideTextDocumentContent: async () => {
      if (server.stage === "running") return "{}";
      const file = await workspace.fs.readFile(Uri.joinPath(extension, "schema", "definitions.json"));
      return new TextDecoder().decode(file);
    },
  });
}
