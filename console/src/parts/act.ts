/** Doing something and saying how it went. */
import { useState } from "react";
import { Failure } from "../client/api.ts";
import { toast } from "./toast.tsx";

/** `run` does it, `busy` while it is done. A failure is shown as a notice, and `run` returns false. */
export function useAct(): {
	busy: boolean;
	run: (doing: () => Promise<unknown>, done?: string) => Promise<boolean>;
} {
	const [busy, setBusy] = useState(false);
	const run = async (doing: () => Promise<unknown>, done?: string): Promise<boolean> => {
		setBusy(true);
		try {
			await doing();
			if (done !== undefined) toast({ text: done });
			return true;
		} catch (error) {
			if (!(error instanceof Failure)) throw error;
			toast({ text: error.message, code: error.code, bad: true });
			return false;
		} finally {
			setBusy(false);
		}
	};
	return { busy, run };
}
