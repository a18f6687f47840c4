import ConiferDocument
public import Foundation

// Bundles: documents and named queries that a server packed into a file.
extension Firestore {
  /// Takes a bundle into the cache.
  ///
  /// - Parameters:
  ///   - bundleData: the bundle's bytes.
  ///   - completion: given how much there was, or why it was given up; on the callback queue.
  /// - Returns: what tells how far it has come.
  @discardableResult
  public func loadBundle(
    _ bundleData: Data,
    completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)? = nil
  ) -> LoadBundleTask {
    let task = LoadBundleTask(self, completion)
    load(Array(bundleData), task)
    return task
  }

  /// Takes a bundle into the cache.
  ///
  /// - Parameters:
  ///   - bundleStream: where its bytes come from; it is read to its end on a background queue.
  ///   - completion: given how much there was, or why it was given up; on the callback queue.
  /// - Returns: what tells how far it has come.
  @discardableResult
  public func loadBundle(
    _ bundleStream: InputStream,
    completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)? = nil
  ) -> LoadBundleTask {
    let task = LoadBundleTask(self, completion)
    let stream = UserValue(value: bundleStream)
    DispatchQueue.global().async { [self] in
      do throws(FirestoreError) {
        load(try Self.bytes(of: stream.value), task)
      } catch {
        deliver { task.take(.failure(error)) }
      }
    }
    return task
  }

  /// Takes a bundle into the cache, and waits until it is there.
  ///
  /// - Parameter bundleData: the bundle's bytes.
  /// - Returns: how much there was.
  /// - Throws: `invalidArgument` for what is no bundle of this database; what the storage does;
  ///   `cancelled`; `failedPrecondition` when the database is terminated meanwhile.
  @discardableResult
  nonisolated(nonsending)
    public func loadBundle(
      _ bundleData: Data
    ) async throws(FirestoreError) -> LoadBundleTaskProgress
  {
    try await wait { loadBundle(bundleData, completion: Self.waiter($1)) }
  }

  /// Takes a bundle into the cache, and waits until it is there.
  ///
  /// - Parameter bundleStream: where its bytes come from; it is read to its end on a background queue.
  /// - Returns: how much there was.
  /// - Throws: `unknown` when the stream cannot be read; `invalidArgument` for what is no bundle of this
  ///   database; what the storage does; `cancelled`; `failedPrecondition` when the database is terminated
  ///   meanwhile.
  @discardableResult
  nonisolated(nonsending)
    public func loadBundle(
      _ bundleStream: InputStream
    ) async throws(FirestoreError) -> LoadBundleTaskProgress
  {
    try await wait { loadBundle(bundleStream, completion: Self.waiter($1)) }
  }

  /// Whoever waits for a bundle, told as its block would be.
  private static func waiter(
    _ told: @escaping @Sendable (Result<LoadBundleTaskProgress, FirestoreError>) -> Void
  ) -> (LoadBundleTaskProgress?, (any Error)?) -> Void {
    { progress, error in
      if let progress { return told(.success(progress)) }
      told(.failure(error as? FirestoreError ?? FirestoreError(.unknown, "\(error as Any)")))
    }
  }

  /// The query that a bundle brought under a name.
  ///
  /// - Parameters:
  ///   - name: the name.
  ///   - completion: given the query, or nil for an unknown name; on the callback queue.
  public func getQuery(named name: String, completion: @escaping (Query?) -> Void) {
    let user = UserCode<Query?>(completion)
    do throws(FirestoreError) {
      try engine().namedQuery(name) { [self] result in
        switch result {
        case .success(let query): user(query.map { Query(self, .success($0)) })
        case .failure(let error):
          report(error)
          user(nil)
        }
      }
    } catch {
      report(error)
      deliver { user(nil) }
    }
  }

  /// The query that a bundle brought under a name; nil for an unknown name, and when the storage fails, which
  /// is logged.
  nonisolated(nonsending)
    public func getQuery(named name: String) async -> Query?
  {
    do throws(FirestoreError) {
      let query: DocumentQuery? = try await wait { $0.namedQuery(name, $1) }
      return query.map { Query(self, .success($0)) }
    } catch {
      report(error)
      return nil
    }
  }

  private func load(_ bytes: [UInt8], _ task: LoadBundleTask) {
    do throws(FirestoreError) {
      try engine().loadBundle(bytes) { task.take($0) }
    } catch {
      deliver { task.take(.failure(error)) }
    }
  }

  /// Reads a stream to its end.
  ///
  /// - Throws: `unknown` with what the stream says.
  static func bytes(of stream: InputStream) throws(FirestoreError) -> [UInt8] {
    stream.open()
    defer { stream.close() }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      if count == 0 { return bytes }
      guard count > 0 else {
        throw FirestoreError(
          .unknown, "The stream could not be read. Give one that is not open yet.",
          cause: stream.streamError.map { "\($0)" })
      }
      bytes += buffer[..<count]
    }
  }
}
