// The editor of rules, which is loaded when somebody edits one. It lives in a shadow root: there its style sheets are
// adopted and not written into the page, which the page's policy forbids.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic, Position } from "./wire";

export interface Editor {
  mark(diagnostics: readonly Diagnostic[]): void;
  destroy(): void;
}

const look = EditorView.theme({
  "&": {
    color: "var(--ink)",
    backgroundColor: "var(--sunk)",
    fontSize: "0.8125rem",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", minHeight: "12rem", maxHeight: "30rem" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.5rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--ink-2)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--sheet)",
    color: "var(--ink)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
  },
  ".cm-diagnostic": { fontFamily: "var(--sans)", padding: "4px 8px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--deny)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--ask)" },
  ".cm-specialChar": { color: "var(--deny)" },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--rewrite)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--ink-2)" },
]);

/** The place in a document of a line and a column that count characters from 1. */
function offset(text: Text, { line, column }: Position): number {
  const at = text.line(Math.max(1, Math.min(line, text.lines)));
  const before = [...at.text].slice(0, Math.max(0, column - 1)).join("").length;
  return at.from + before;
}

export function mount(parent: HTMLElement, given: { text: string; label: string; onChange: (text: string) => void }): Editor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: given.text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSpecialChars(),
        lintGutter(),
        yaml(),
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        keymap.of([...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.contentAttributes.of({ "aria-label": given.label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) given.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    mark: (diagnostics) => {
      const { doc } = view.state;
      const marks = diagnostics.slice(0, 200).map((it): Mark => {
        const from = offset(doc, it.range.start);
        const to = Math.max(from, offset(doc, it.range.end));
        return { from, to, severity: it.severity, message: it.message + (it.help !== undefined ? ` (${it.help})` : "") };
      });
      view.dispatch(setDiagnostics(view.state, marks));
    },
    destroy: () => view.destroy(),
  };
}
