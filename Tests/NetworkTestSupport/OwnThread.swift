#if Network
  import Foundation

  /// Work on a thread of its own, begun at once.
  ///
  /// A test that waits for the exit of a process holds one of the few threads that all tasks share: what
  /// such a process itself waits for must not need another one.
  package struct OwnThread<Value: Sendable> {
    private let results: AsyncStream<Result<Value, any Error>>

    package init(_ body: @escaping @Sendable () throws -> Value) {
      let (results, end) = AsyncStream<Result<Value, any Error>>.makeStream()
      self.results = results
      Thread.detachNewThread {
        end.yield(Result { try body() })
        end.finish()
      }
    }

    /// What it came to.
    package var value: Value {
      get async throws {
        for await result in results { return try result.get() }
        throw CancellationError()
      }
    }
  }
#endif
