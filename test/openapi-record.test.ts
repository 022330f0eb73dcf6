/**
 * `/openapi.json` against what was last recorded of it: an operation or a member that is missing breaks a client, so it
 * is red unless `removed` names it. `SLUICE_KEEP_OPENAPI=1` records the present document, as for a release.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { openapiOf } from "../scripts/api-page/openapi.ts";
import type { OpenApi } from "../scripts/api-page/openapi-types.ts";
import { ROUTES } from "../src/modules/tables.ts";
import { membersOf, missing } from "./support/openapi-members.ts";

interface Recorded {
	/** Removed on purpose since the record, in the words of the test. */
	removed: readonly string[];
	members: Readonly<Record<string, readonly string[]>>;
}

const RECORD = new URL("support/openapi-record.json", import.meta.url);

const document = JSON.parse(JSON.stringify(openapiOf(ROUTES, "1.2.3"))) as OpenApi;
const present = membersOf(document);
const keep = process.env["SLUICE_KEEP_OPENAPI"] !== undefined;
if (keep) writeFileSync(RECORD, `${JSON.stringify({ removed: [], members: present }, undefined, "\t")}\n`);
const recorded = JSON.parse(readFileSync(RECORD, "utf8")) as Recorded;

it("has every operation and member that was recorded, but what was removed on purpose", () => {
	expect(missing(recorded.members, present).toSorted()).toEqual(recorded.removed.toSorted());
});

it("finds an operation, a parameter and a member of a body that are missing", () => {
	const run = "/v2/{endpoint}/run";
	const without = structuredClone(document) as any;
	delete without.paths["/v2/{endpoint}/status/{job}"].get;
	without.paths[run].post.parameters = [];
	delete without.components.schemas.Endpoint.properties.workersMax;
	expect(missing(present, membersOf(without))).toEqual([
		"Endpoint: .workersMax",
		"GET /v2/{endpoint}/status/{job} status",
		"POST /v2/{endpoint}/run run: header Idempotency-Key",
		"POST /v2/{endpoint}/run run: path endpoint",
	]);
});
