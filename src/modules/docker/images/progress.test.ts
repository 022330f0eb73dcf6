/** What is shown of a pull, for lines as Docker sends them. */
import { describe, expect, it } from "vitest";
import { type PullLine, pullProgress } from "./progress.ts";

const line = (id: string, status: string, current?: number, total?: number): PullLine => ({
	id,
	status,
	progressDetail: current === undefined ? {} : { current, ...(total !== undefined && { total }) },
});

/** The reasons after each group of lines. */
function shown(...groups: PullLine[][]): (string | number | undefined)[][] {
	const progress = pullProgress("w:1");
	return groups.map((lines) => {
		for (const each of lines) progress.read(each);
		const { message, progress: percent } = progress.reason();
		return [message, percent];
	});
}

describe("D45: pullProgress", () => {
	it("counts downloaded bytes of all layers, unknown ones as the mean; then the image is unpacked", () => {
		expect(
			shown(
				[line("1", "Pulling from w"), line("a", "Pulling fs layer"), line("b", "Waiting")],
				[line("a", "Downloading", 50, 100)],
				[line("a", "Verifying Checksum"), line("a", "Download complete")],
				[line("b", "Downloading", 100, 300)],
				[line("a", "Extracting", 100, 100), line("a", "Pull complete")],
				[line("b", "Download complete")],
				[line("b", "Extracting", 150, 300)],
				[line("b", "Pull complete")],
			),
		).toEqual([
			["Pulling image w:1.", undefined],
			["Pulling image w:1.", 25],
			["Pulling image w:1.", 50],
			["Pulling image w:1.", 50],
			["Pulling image w:1.", 50],
			["Unpacking image w:1.", undefined],
			["Unpacking image w:1.", undefined],
			["Unpacking image w:1.", undefined],
		]);
	});

	it("never goes back: a download that is repeated, a layer that turns out to be large", () => {
		expect(
			shown(
				[line("a", "Downloading", 90, 100)],
				[line("a", "Retrying in 5 seconds"), line("a", "Downloading", 10, 100)],
				[line("b", "Downloading", 0, 900)],
				[line("b", "Downloading", 810, 900), line("a", "Downloading", 90, 100)],
				[line("b", "Downloading", 900, 900), line("a", "Downloading", 90, 100)],
			).map(([, percent]) => percent),
		).toEqual([90, 90, 90, 90, 99]);
	});

	it("ignores layers that are present, other lines, and numbers that are no bytes", () => {
		const seconds = { current: 3, total: 0, units: "s" };
		expect(
			shown(
				[line("z", "Already exists"), { status: "Digest: sha256:0a" }, { status: "Downloading" }],
				[line("a", "Downloading", 30, 100)],
				[line("a", "Download complete")],
				[{ id: "a", status: "Extracting", progressDetail: seconds }],
			),
		).toEqual([
			["Pulling image w:1.", undefined],
			["Pulling image w:1.", 30],
			["Unpacking image w:1.", undefined],
			["Unpacking image w:1.", undefined],
		]);
	});

	it("names the host", () => {
		expect(pullProgress("w:1", " on rig1").reason()).toEqual({
			code: "image_pull",
			message: "Pulling image w:1 on rig1.",
		});
	});
});
