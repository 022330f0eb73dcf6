/** Events of backups (D46). */
import { info } from "../../kernel/event-table.ts";

export const EVENTS = {
	/** A backup was sent to its client (D46). */
	"backup.sent": info<{ bytes: number; ms: number }>(
		({ bytes, ms }) => `a backup of ${Math.round(bytes / 2 ** 20)} MiB was sent in ${Math.round(ms / 1000)} s`,
	),
};
