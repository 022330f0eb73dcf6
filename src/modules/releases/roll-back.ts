/** Rollback to an earlier version by an operator (D50). */
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { type LaunchedSettings, withLaunched } from "../../kernel/core/releases/launched-settings.ts";
import { type Endpoints, withoutId } from "../../kernel/engine/endpoints/endpoints.ts";
import { ERRORS } from "./errors.ts";

/** Makes a new version with the settings of an earlier one. Throws `release_not_found` and `release_refused`. */
export async function rollBackTo(
	endpoints: Endpoints,
	id: string,
	{ version, by }: { version: number; by: string },
): Promise<void> {
	const settingsOf = async (before: Endpoint): Promise<object> => {
		const opened = await endpoints.versions.settingsOf(endpoints.entry(id), version);
		if (!opened) throw new ApiError(ERRORS.release_not_found, { endpoint: id, version: String(version) });
		const { settings: launched, unreadable } = opened;
		if (unreadable.length > 0)
			throw new ApiError(ERRORS.release_refused, {
				why:
					`The values of env ${unreadable.join(", ")} of version ${version} were stored under another ` +
					"SLUICE_SECRET and cannot be read: set them with a change of the endpoint instead.",
			});
		return withLaunched(withoutId(before), launched as unknown as LaunchedSettings);
	};
	await endpoints.change(id, settingsOf, { source: "rollback", by, keepsUsed: true });
}
