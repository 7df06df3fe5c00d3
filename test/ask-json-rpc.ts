/**
 * The result of a JSON-RPC method, null where the node has none. Throws an Error with the node's words for an error. Over a connection of its own: on
 * a busy machine a kept one is asked over when its server has closed it.
 */
export async function askJsonRpc<Result = unknown>(
  url: string,
  method: string,
  params: readonly unknown[],
): Promise<Result> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { result: Result; error?: { readonly message: string } }
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}
