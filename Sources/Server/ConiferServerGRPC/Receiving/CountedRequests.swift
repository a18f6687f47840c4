#if GRPC
  import GRPCCore

  /// The requests of a call, each of which counts as received until the next one is asked for.
  struct CountedRequests<Request: Sendable>: AsyncSequence, Sendable {
    typealias Failure = any Error

    let requests: RPCAsyncSequence<Request, any Error>
    let share: RequestShare

    func makeAsyncIterator() -> Iterator {
      Iterator(requests: requests.makeAsyncIterator(), share: share)
    }

    struct Iterator: AsyncIteratorProtocol {
      fileprivate var requests: RPCAsyncSequence<Request, any Error>.AsyncIterator
      fileprivate let share: RequestShare

      mutating func next() async throws -> Request? { try await next(isolation: nil) }

      mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(any Error) -> Request? {
        share.readNext()
        return try await requests.next(isolation: actor)
      }
    }
  }
#endif
