import { expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/worker-kit/http-servers.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { createProgress } from "./progress.ts";

it.each<[object, object, number | undefined]>([
	[{ percent: "/p" }, { p: 12.34 }, 12.3],
	[{ percent: "/p", scale: 100 }, { p: 0.5 }, 50],
	[{ percent: "/p", scale: 100 }, { p: 7 }, 100],
	[{ percent: "/p" }, { p: "12.34" }, 12.3],
	[{ percent: "/done", of: "/all" }, { done: "5368709120", all: "21474836480" }, 25],
	[{ percent: "/done", of: "/all" }, { done: 1, all: 3 }, 33.3],
	[{ percent: "/done", of: "/all" }, { done: "0", all: "0" }, undefined],
	[{ percent: "/done", of: "/all" }, { done: 1 }, undefined],
	[{ percent: "/p" }, { p: "" }, undefined],
	[{ percent: "/p" }, { p: "half" }, undefined],
	[{ percent: "/p" }, { p: null }, undefined],
])("progress of %j in %j is %s", (mapping, value, percent) => {
	const reported: unknown[] = [];
	const { progress } = mappingOf({ progress: { path: "/progress", ...mapping } });
	const report = async (each: unknown): Promise<void> => void reported.push(each);
	createProgress({ progress: progress!, report, clock: manualClock() })(value);
	expect(reported).toEqual(percent === undefined ? [] : [{ percent }]);
});
