/** Events of files (D61). */
import { warn } from "../../kernel/event-table.ts";

export const EVENTS = {
	/** The bucket of files could not be used at the start; calls that need it are answered 503 until it can (D61). */
	"files.bucket_away": warn<{ why: string }>(
		({ why }) => `the bucket of files cannot be used: ${why} Files are 503 until it can`,
	),
};
