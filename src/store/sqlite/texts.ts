/** Payloads, apart from the rows of their jobs: inputs, and results or the progress value of a running job. */
import type { JsonText } from "../../core/json-text.ts";
import type { Database } from "./database.ts";
import type { Large } from "./large.ts";

/** The result texts of a job. */
export interface Result {
  output?: JsonText | undefined;
  error?: string | undefined;
}

export type Texts = ReturnType<typeof openTexts>;

/** Payloads of `db`; `large` is told of those that are bytes. */
export function openTexts({ db, large }: { db: Database; large: Large }) {
  const insertInput = db.prepare("INSERT INTO inputs (seq, input) VALUES (?, ?)");
  const selectInput = db.prepare("SELECT input FROM inputs WHERE seq = ?");
  const deleteInput = db.prepare("DELETE FROM inputs WHERE seq = ?");
  const replaceResult = db.prepare("INSERT OR REPLACE INTO results (seq, output, error) VALUES (?, ?, ?)");
  const selectResult = db.prepare("SELECT output, error FROM results WHERE seq = ?");
  const selectError = db.prepare("SELECT error FROM results WHERE seq = ?");
  const deleteResult = db.prepare("DELETE FROM results WHERE seq = ?");

  function read<T extends JsonText | null | undefined>(text: T): T {
    if (text instanceof Uint8Array) large.read(text);
    return text;
  }

  /** Replaces the result; without texts there is none afterwards. */
  function setResult(seq: number, { output, error }: Result): void {
    if (output instanceof Uint8Array) large.written(output);
    if (output === undefined && error === undefined) deleteResult.run(seq);
    else replaceResult.run(seq, output ?? null, error ?? null);
  }

  return {
    setInput(seq: number, input: JsonText): void {
      if (input instanceof Uint8Array) large.written(input);
      insertInput.run(seq, input);
    },

    input: (seq: number): JsonText => read(selectInput.get(seq)?.[0] as JsonText),

    setResult,

    result(seq: number): Result {
      const [output, error] = (selectResult.get(seq) ?? []) as [(JsonText | null)?, (string | null)?];
      return { output: read(output) ?? undefined, error: error ?? undefined };
    },

    /** The error alone, without reading the output. */
    error: (seq: number): string | undefined => (selectError.get(seq)?.[0] as string | null | undefined) ?? undefined,

    /** Removes input and result. */
    erase(seq: number): void {
      deleteInput.run(seq);
      deleteResult.run(seq);
    },
  };
}
