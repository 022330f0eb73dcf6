import { connect } from "./connect.ts";
import { http } from "./http-test.ts";

export const COMMANDS = [connect, http];
