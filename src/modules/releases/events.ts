/** Events of releases (D50). */
import { error, info, warn } from "../../kernel/event-table.ts";

export const EVENTS = {
	/** A worker of an endpoint's current release was healthy; `compared`: what its canary showed (D50). */
	"release.healthy": info<{ endpoint: string; version: number; compared?: string | undefined }>(
		({ endpoint, version, compared }) =>
			`${endpoint}: version ${version} is healthy${compared === undefined ? "" : `: ${compared}`}`,
	),
	/** A canary goes on after its `maxMs`, because too few jobs of one of the versions have ended (D50). */
	"release.not_compared": warn<{ endpoint: string; version: number; why: string }>(
		({ endpoint, version, why }) => `${endpoint}: version ${version} remains a canary: ${why}`,
	),
	/** A release's workers crashed or its canary's jobs failed: the last healthy settings are in force (D50). */
	"release.rolled_back": error<{ endpoint: string; reason: string }>(
		({ endpoint, reason }) => `${endpoint}: ${reason}`,
	),
};
