import type { Log } from '../../infra/ports/log.ts'

const nothing = (): void => {}

export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
