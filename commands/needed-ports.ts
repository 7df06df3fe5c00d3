import type { RolePorts } from './role.ts'

type Opened = { readonly [Name in keyof RolePorts]: RolePorts[Name] | undefined }

/**
 * The ports that are open, as roles take them. Asking for another one is a mistake of a role, and throws; handing all of them on
 * (`...ports`) hands on those that are open.
 */
export function neededPorts(opened: Opened): RolePorts {
  const ports = { ...opened }
  for (const [name, port] of Object.entries(opened)) {
    if (port !== undefined) continue
    const get = (): never => {
      throw new Error(`a role uses ${name} and does not say that it needs it`)
    }
    Object.defineProperty(ports, name, { enumerable: false, get })
  }
  return ports as RolePorts
}
