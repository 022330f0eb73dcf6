/** `/v1/alerts` (D53). */
import { badRequest } from "../../kernel/core/errors.ts";
import { may } from "../../kernel/engine/access/keys.ts";
import { isoJobTime } from "../../kernel/http/exchange/format.ts";
import { readNothing, readObject } from "../../kernel/http/exchange/object-body.ts";
import { valueOf } from "../../kernel/http/exchange/call.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Alerts } from "./alerts.ts";
import { type ALERT_ROUTES, SILENCED_ENDPOINT } from "./routes.ts";
import { readAlertName, readSilence } from "./silence.ts";
import { silenceOf } from "./state.ts";

export function alertHandlers(alerts: Alerts): HandlersOf<typeof ALERT_ROUTES> {
	return {
		async listAlerts(call) {
			const { engine } = call;
			const principal = principalOf(call);
			const sees = (endpoint: string | undefined): boolean =>
				endpoint === undefined ? !principal.endpoints : may(principal, "read", endpoint);
			const state = await alerts.list();
			const view = await alerts.viewer();
			return {
				enabled: alerts.enabled,
				alerts: state.alerts
					.filter(({ labels }) => sees(labels["endpoint"]))
					.map((alert) => {
						const { status: _, ...shown } = view(alert);
						const until = silenceOf(state.silences, alert, engine.now())?.until;
						return {
							...shown,
							notifiedAt: isoJobTime(engine, alert.notifiedAt),
							silencedUntil: isoJobTime(engine, until),
						};
					}),
				silences: state.silences
					.filter(({ endpoint }) => sees(endpoint))
					.map((each) => ({ ...each, until: isoJobTime(engine, each.until) })),
				receivers: may(principal, "admin") ? alerts.receivers : undefined,
			};
		},
		async silenceAlert(call) {
			const { engine, params } = call;
			const read = readSilence(params.alert, await readObject(call), engine.now());
			if (!read.ok) throw badRequest(read.faults);
			await alerts.silence(read.silence);
			return { ...read.silence, until: isoJobTime(engine, read.silence.until) };
		},
		async endSilence(call) {
			await readNothing(call);
			const read = readAlertName(call.params.alert);
			if (!read.ok) throw badRequest(read.faults);
			await alerts.endSilence({ name: read.name, endpoint: valueOf(call, SILENCED_ENDPOINT) });
			return {};
		},
		async testAlerts(call) {
			await readNothing(call);
			return { receivers: await alerts.test() };
		},
	};
}
