// The body of a function: `event`, `args`, `state`, `log` and `hook` are in scope.
const path = event.tool.input.file_path ?? "";
const isOwn = args.folders.some((folder) => path.startsWith(folder)) && !path.split("/").includes("..");
if (isOwn) return;
log.info("refused", path);
return deny(`${path} is outside of ${args.folders.join(" and ")}.`);
