/** Large texts on their way through the database thread: their memory is given on or given back at once, not when garbage is collected. */

export type Large = ReturnType<typeof openLarge>;

export function openLarge() {
  let out: ArrayBuffer[] = [];
  let done: ArrayBuffer[] = [];

  return {
    /** Bytes that were read for an answer: nothing here keeps them. */
    read({ buffer }: Uint8Array): void {
      if (buffer instanceof ArrayBuffer) out.push(buffer);
    },

    /** Bytes of a query, in the file now or about to be; a batch that fails uses them again. */
    written({ buffer }: Uint8Array): void {
      if (buffer instanceof ArrayBuffer) done.push(buffer);
    },

    /** What was read since the last call, to leave this thread without a copy. */
    takeOut(): ArrayBuffer[] {
      if (out.length === 0) return out;
      const taken = out;
      out = [];
      return taken;
    },

    /** Frees what was written; the end of a batch. */
    free(): void {
      if (done.length === 0) return;
      // A transfer to nothing is the one way to free a buffer by hand.
      for (const buffer of done) if (!buffer.detached) buffer.transfer(0);
      done = [];
    },
  };
}
