/** The engine's interface for sending a message about alerts. */
import type { AlertMessage } from "./message.ts";
import type { AlertReceiver } from "./settings.ts";

/**
 * Sends a message. Returns why the receiver did not accept it, as a sentence without secrets. Rejects only when the
 * signal aborts.
 */
export type SendAlert = (
	receiver: AlertReceiver,
	message: AlertMessage,
	signal: AbortSignal,
) => Promise<string | undefined>;
