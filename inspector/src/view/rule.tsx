// A rule that somebody works on, and the editor for it.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { Editor } from "../editor";
import type { Diagnostic } from "../wire";

export const STARTER =
  "hooks:\n  - name: my-rule\n    on: PreToolUse\n    if: Bash(git push --force*)\n    deny: Force pushes are off. Push a new commit.\n";

/** A file of its own, because only those who edit a rule need it. */
const EDITOR: string = "/editor.js";

/** What is edited now. It stays while somebody looks at other views. */
export const draft = signal({ text: STARTER, cases: "", name: "my-rule", from: "" });

/** `text` is what it begins with: an editor that is set anew while somebody types would take letters back. */
export function RuleEditor({
  text,
  diagnostics,
  onChange,
  label,
}: {
  text: string;
  diagnostics: readonly Diagnostic[];
  onChange: (text: string) => void;
  label: string;
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | undefined>(undefined);
  const [plain, setPlain] = useState(false);
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    let isGone = false;
    (import(EDITOR) as Promise<typeof import("../editor")>).then(
      ({ mount }) => {
        if (isGone || place.current === null) return;
        editor.current = mount(place.current, { text, label, onChange: (next) => change.current(next) });
        editor.current.mark(diagnostics);
      },
      () => setPlain(true),
    );
    return () => {
      isGone = true;
      editor.current?.destroy();
      editor.current = undefined;
    };
  }, []);
  useEffect(() => editor.current?.mark(diagnostics), [diagnostics]);
  // Without the editor, a text field does.
  if (plain)
    return (
      <textarea
        class="rule-editor"
        rows={14}
        spellcheck={false}
        aria-label={label}
        value={text}
        onInput={(it) => onChange(it.currentTarget.value)}
      />
    );
  return <div class="rule-editor" ref={place} />;
}
