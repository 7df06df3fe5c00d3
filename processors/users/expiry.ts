import type { Session, UserStands } from '../../schemas/events/users.ts'

/** Somebody who did nothing for a day is logged out. */
export const SESSION_IDLE_SEC = 86_400
/** Nobody is logged in for longer, whatever they do. */
export const SESSION_SEC = 14 * 86_400
/** That somebody is there is noted so often at most: each time is an event. */
export const SESSION_NOTED_SEC = 900

export function isOpen({ sinceSec, seenSec }: Session, nowSec: number): boolean {
  return nowSec < sinceSec + SESSION_SEC && nowSec < seenSec + SESSION_IDLE_SEC
}

/** What still counts of it. */
export function withoutExpired(stands: UserStands, nowSec: number): UserStands {
  const { user } = stands
  const counts = ({ untilSec }: { readonly untilSec: number }): boolean => nowSec < untilSec
  return {
    ...stands,
    signUps: stands.signUps.filter(({ code }) => counts(code)),
    ...(user === undefined
      ? {}
      : {
          user: {
            ...user,
            resets: user.resets.filter(counts),
            sessions: user.sessions.filter((session) => isOpen(session, nowSec)),
          },
        }),
  }
}

/** Whether somebody's password is kept who never verified an address: it is to go without anybody asking. */
export function hasExpiredSignUps({ signUps }: UserStands, nowSec: number): boolean {
  return signUps.some(({ code }) => nowSec >= code.untilSec)
}
