/** Events of releases (D50). */
import { error, info } from "../../kernel/event-table.ts";

export const EVENTS = {
	/** A worker of an endpoint's current release was healthy; `compared`: what its canary showed (D50). */
	"release.healthy": info<{ endpoint: string; version: number; compared?: string | undefined }>(
		({ endpoint, version, compared }) =>
			`${endpoint}: version ${version} is healthy${compared === undefined ? "" : `: ${compared}`}`,
	),
	/** A release's workers crashed or its canary's jobs failed: the last healthy settings are in force (D50). */
	"release.rolled_back": error<{ endpoint: string; reason: string }>(
		({ endpoint, reason }) => `${endpoint}: ${reason}`,
	),
};
