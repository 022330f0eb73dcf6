/** `/v1/alerts` (D53). */
import {
	type END_SILENCE,
	type LIST_ALERTS,
	type SILENCE_ALERT,
	SILENCED_ENDPOINT,
	type Silence,
	type TEST_ALERTS,
} from "../../api/alerts.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Sendable } from "../../api/definition/schema.ts";
import * as core from "../../core/alerts/alert-state.ts";
import { readAlertName, readSilence } from "../../core/alerts/silence.ts";
import { badRequest } from "../../core/errors.ts";
import { may } from "../../engine/access/keys.ts";
import type { Call } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import { readNothing, readObject } from "../exchange/object-body.ts";
import { valueOf } from "../exchange/params.ts";
import { principalOf } from "../gates/auth.ts";

export async function list(call: Call): Promise<AnswerOf<typeof LIST_ALERTS>> {
	const { engine } = call;
	const principal = principalOf(call);
	const sees = (endpoint: string | undefined): boolean =>
		endpoint === undefined ? !principal.endpoints : may(principal, "read", endpoint);
	const state = await engine.alerts.list();
	const view = await engine.alerts.viewer();
	return {
		enabled: engine.alerts.enabled,
		alerts: state.alerts
			.filter(({ labels }) => sees(labels["endpoint"]))
			.map((alert) => {
				const { status: _, ...shown } = view(alert);
				const until = core.silenceOf(state, alert, engine.now())?.until;
				const notifiedAt = alert.owed.length === 0 ? alert.notifiedAt : undefined;
				return {
					...shown,
					notifiedAt: isoJobTime(engine, notifiedAt),
					silencedUntil: isoJobTime(engine, until),
				};
			}),
		silences: state.silences.filter(({ endpoint }) => sees(endpoint)).map((each) => silenceJson(call, each)),
		receivers: may(principal, "admin") ? engine.alerts.receivers : undefined,
	};
}

export async function silence(call: Call<"alert">): Promise<AnswerOf<typeof SILENCE_ALERT>> {
	const { engine, params } = call;
	const read = readSilence(params.alert, await readObject(call), engine.now());
	if (!read.ok) throw badRequest(read.faults);
	await engine.alerts.silence(read.silence);
	return silenceJson(call, read.silence);
}

export async function endSilence(call: Call<"alert">): Promise<AnswerOf<typeof END_SILENCE>> {
	await readNothing(call);
	const read = readAlertName(call.params.alert);
	if (!read.ok) throw badRequest(read.faults);
	await call.engine.alerts.endSilence({ name: read.name, endpoint: valueOf(call, SILENCED_ENDPOINT) });
	return {};
}

export async function test(call: Call): Promise<AnswerOf<typeof TEST_ALERTS>> {
	await readNothing(call);
	return { receivers: await call.engine.alerts.test() };
}

function silenceJson({ engine }: Call, { until, ...rest }: core.Silence): Sendable<Silence> {
	return { ...rest, until: isoJobTime(engine, until) };
}
