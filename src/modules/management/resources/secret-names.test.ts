import { describe, expect, it } from "vitest";
import { check } from "../../../kernel/lib/schema.ts";
import { SECRET_NAME, secretNames, unknownSecret, withSecrets } from "./secret-names.ts";

const env = {
	PLAIN: "small",
	TOKEN: "{{ RUNPOD_SECRET_hf_token }}",
	URL: "https://u:{{RUNPOD_SECRET_db/pass}}@{{  RUNPOD_SECRET_host  }}/",
	OTHER: "{{ SECRET_a }} {{ RUNPOD_SECRET_two words }}",
};

describe("secrets in variables", () => {
	it("finds them, with any spaces, and several in one value", () => {
		expect([...secretNames(env)]).toEqual(["hf_token", "db/pass", "host"]);
		expect([...secretNames({ A: "{{ RUNPOD_SECRET_ }}" })]).toEqual([""]);
	});

	it("replaces them in one pass, so that a value with a placeholder stays as it is", () => {
		const values = new Map([
			["hf_token", "{{ RUNPOD_SECRET_host }} $&"],
			["db/pass", "p"],
			["host", "h"],
		]);
		expect(withSecrets(env, values)).toEqual({
			...env,
			TOKEN: "{{ RUNPOD_SECRET_host }} $&",
			URL: "https://u:p@h/",
		});
	});

	it("names the variable of an unknown one", () => {
		expect(unknownSecret(env, new Set(["hf_token", "host"]))).toEqual({ variable: "URL", secret: "db/pass" });
		expect(unknownSecret(env, secretNames(env))).toBeUndefined();
	});
});

it.each([
	["a", true],
	["_a.b/c-9", true],
	["a".repeat(191), true],
	["a".repeat(192), false],
	["", false],
	["9a", false],
	["a b", false],
	["runpod_token", false],
	["RunPod", false],
	["run", true],
])("a secret's name %j: %s", (name, isValid) => {
	expect(check(SECRET_NAME, name)).toHaveLength(isValid ? 0 : 1);
});
