import cliProgress from 'cli-progress'

/** What one stage of the pipeline has done of what it can do now. */
export interface StageProgress {
  readonly done: number
  readonly total: number
  /** Free text behind the bar: "lag 3", "130/s". */
  readonly note?: string
}

/** One line per stage on stderr: bars that are redrawn on a terminal, a line now and then elsewhere. */
export interface Progress extends Disposable {
  update(stage: string, progress: StageProgress): void
}

const REDRAW_MS = 500
/** Between two plain lines of one stage, where there is no terminal to redraw. */
const PLAIN_INTERVAL_MS = 5_000
/** The same for a stage that has nothing left to do: a sign of life. */
const PLAIN_IDLE_INTERVAL_MS = 60_000
const STAGE_CHARACTERS = 10

/** Shows long work with its rate and the time left, until disposed. */
export function openProgress(terminal = process.stderr.isTTY === true, now: () => number = Date.now): Progress {
  return terminal ? openBars() : openLines(now)
}

function openBars(): Progress {
  const bars = new cliProgress.MultiBar(
    {
      stream: process.stderr,
      format: '{stage} {bar} {value}/{total} {percentage}% {rate}/s, {eta_formatted} left {note}',
      clearOnComplete: false,
      hideCursor: true,
      fps: 1_000 / REDRAW_MS,
      etaBuffer: 50,
      stopOnComplete: false,
      emptyOnZero: true,
    },
    cliProgress.Presets.shades_grey,
  )
  const known = new Map<string, { readonly bar: cliProgress.SingleBar; readonly rate: (done: number) => string }>()
  return {
    update(stage, { done, total, note = '' }) {
      let entry = known.get(stage)
      if (entry === undefined) {
        const bar = bars.create(total, done, { stage: stage.padEnd(STAGE_CHARACTERS), note, rate: '0' })
        entry = { bar, rate: rateSince(done, Date.now) }
        known.set(stage, entry)
      }
      entry.bar.setTotal(Math.max(total, done))
      entry.bar.update(done, { note, rate: entry.rate(done) })
    },
    [Symbol.dispose]: () => bars.stop(),
  }
}

function openLines(now: () => number): Progress {
  const known = new Map<string, { at: number; readonly rate: (done: number) => string }>()
  return {
    update(stage, { done, total, note = '' }) {
      const entry = known.get(stage)
      const finished = done >= total
      if (entry === undefined) known.set(stage, { at: now(), rate: rateSince(done, now) })
      else if (now() - entry.at < (finished ? PLAIN_IDLE_INTERVAL_MS : PLAIN_INTERVAL_MS)) return
      else entry.at = now()
      const rate = known.get(stage)?.rate(done) ?? '0'
      const left = finished || Number(rate) === 0 ? '' : `, ${Math.ceil((total - done) / Number(rate))} s left`
      process.stderr.write(`${stage.padEnd(STAGE_CHARACTERS)} ${done}/${total} ${rate}/s${left} ${note}\n`)
    },
    [Symbol.dispose]: () => {},
  }
}

/** Mean rate since the first call, as text with one decimal below 10. */
function rateSince(first: number, now: () => number): (done: number) => string {
  const start = now()
  return (done) => {
    const perSecond = ((done - first) * 1_000) / Math.max(1, now() - start)
    return perSecond.toFixed(perSecond < 10 ? 1 : 0)
  }
}
