/**
 * What may be shown of what a worker has said. The values that must not be in it are those that the worker was started
 * with: they are kept with its handle, since a variable or secret may have another value when it ends, and the old one
 * may be the dangerous one.
 */
import { lastCharacters, lastLines } from "../../../core/workers/ended-worker.ts";
import { type HiddenValues, withoutSecrets } from "../../../core/workers/hidden-values.ts";
import type { Handle } from "../../../launchers/launcher.ts";
import { resealText } from "../../endpoints/sealed-settings.ts";
import type { Encryption } from "../../../secrets/encryption.ts";
import type { Worker } from "../worker-registry.ts";

/** Member of a stored handle. Absent in those of earlier versions. */
const HIDDEN = "sluiceHidden";

const NOT_SHOWN = "what it said is not shown: the values that must not be in it are not known";

export function hiddenMember(values: HiddenValues, encryption: Encryption): Handle {
	return { [HIDDEN]: encryption.encrypt(JSON.stringify(values)) };
}

/** Undefined if they are not known: an earlier version has started the worker, or the key is another one. */
export function hiddenIn(handle: Handle, encryption: Encryption): HiddenValues | undefined {
	const opened = encryption.decrypt(String(handle[HIDDEN] ?? ""));
	return opened.ok ? (JSON.parse(opened.text) as HiddenValues) : undefined;
}

/** The stored handle with the current key. Unchanged if it has it, or cannot be read. */
export function resealHandle(text: string, encryption: Encryption): string {
	const handle = JSON.parse(text) as Handle;
	const before = handle[HIDDEN];
	if (before === undefined) return text;
	const after = resealText(String(before), encryption);
	return after === before ? text : JSON.stringify({ ...handle, [HIDDEN]: after });
}

/** A sentence about a worker. */
export function shownText({ hidden }: Pick<Worker, "hidden">, text: string): string {
	return hidden ? withoutSecrets(text, hidden) : NOT_SHOWN;
}

/** The last lines of what it printed. Empty if the values are not known. */
export function shownOutput({ hidden }: Pick<Worker, "hidden">, printed: string): string {
	// After lines of the SDK were read as JSON, and before anything is cut.
	return hidden ? lastCharacters(withoutSecrets(lastLines(printed), hidden)) : "";
}
