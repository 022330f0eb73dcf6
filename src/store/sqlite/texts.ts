/** Payloads, apart from the rows of their jobs: inputs, and results or the progress value of a running job. */
import type { Database } from "./database.ts";

/** The result texts of a job. */
export interface Result {
  output?: string | undefined;
  error?: string | undefined;
}

export type Texts = ReturnType<typeof openTexts>;

export function openTexts(db: Database) {
  const insertInput = db.prepare("INSERT INTO inputs (seq, input) VALUES (?, ?)");
  const selectInput = db.prepare("SELECT input FROM inputs WHERE seq = ?");
  const deleteInput = db.prepare("DELETE FROM inputs WHERE seq = ?");
  const replaceResult = db.prepare("INSERT OR REPLACE INTO results (seq, output, error) VALUES (?, ?, ?)");
  const selectResult = db.prepare("SELECT output, error FROM results WHERE seq = ?");
  const deleteResult = db.prepare("DELETE FROM results WHERE seq = ?");

  /** Replaces the result; without texts there is none afterwards. */
  function setResult(seq: number, { output, error }: Result): void {
    if (output === undefined && error === undefined) deleteResult.run(seq);
    else replaceResult.run(seq, output ?? null, error ?? null);
  }

  return {
    setInput: (seq: number, input: string): void => void insertInput.run(seq, input),

    input: (seq: number): string => selectInput.get(seq)?.[0] as string,

    setResult,

    result(seq: number): Result {
      const [output, error] = (selectResult.get(seq) ?? []) as (string | null)[];
      return { output: output ?? undefined, error: error ?? undefined };
    },

    /** Removes input and result. */
    erase(seq: number): void {
      deleteInput.run(seq);
      deleteResult.run(seq);
    },
  };
}
