/** What a module says of wanted workers (D57), by the test's hand. */
import { onTestFinished } from "vitest";
import type { TestService } from "../support/service.ts";

/** Until the test ends, endpoints want the workers that the returned map has for them. */
export function wantWorkers({ engine: { hooks } }: TestService): Map<string, number> {
	const wanted = new Map<string, number>();
	const { wantedWorkers = () => 0 } = hooks;
	hooks.wantedWorkers = (endpoint) => wanted.get(endpoint) ?? 0;
	onTestFinished(() => void (hooks.wantedWorkers = wantedWorkers));
	return wanted;
}
