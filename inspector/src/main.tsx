// The page of `hookwire inspect`.

import "./style/page.css";
import { render } from "preact";
import { followHash } from "./route";
import { begin, follow, link } from "./session";
import { catchUp, keepFiltered, take } from "./store";
import { Shell } from "./view/shell";

async function start(): Promise<void> {
  followHash();
  const began = begin();
  render(<Shell />, document.getElementById("app")!);
  keepFiltered();
  if (!(await began)) return;
  link.value = "starting";
  void catchUp();
  await follow(take);
}

void start();
