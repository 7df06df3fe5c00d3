import type { Warehouse } from '../../infra/ports/warehouse.ts'

/** Another handle, as another process has it; `insert` instead of the warehouse's own. */
export function handleOf(warehouse: Warehouse, insert?: Warehouse['insert']): Warehouse {
  return new Proxy(warehouse, {
    get: (target, name) => {
      const own = name === 'insert' && insert !== undefined ? insert : Reflect.get(target, name)
      return typeof own === 'function' ? own.bind(target) : own
    },
  })
}
