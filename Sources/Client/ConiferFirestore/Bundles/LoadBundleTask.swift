import Synchronization

/// Whether loading a bundle failed, goes on or is complete.
public enum LoadBundleTaskState: Sendable, Hashable {
  /// Loading was given up. What is not in the cache yet will not be loaded.
  case error
  /// It is being taken in.
  case inProgress
  /// All of it was taken in.
  case success
}

/// The progress of loading a bundle, in documents and bytes.
public struct LoadBundleTaskProgress: Sendable, Hashable {
  /// Documents that were taken in.
  public let documentsLoaded: Int
  /// Documents that there are.
  public let totalDocuments: Int
  /// Bytes that were taken in.
  public let bytesLoaded: Int
  /// Bytes that there are.
  public let totalBytes: Int
  /// Whether it goes on.
  public let state: LoadBundleTaskState

  init(_ progress: BundleProgress, _ state: LoadBundleTaskState) {
    documentsLoaded = progress.documents
    totalDocuments = progress.totalDocuments
    bytesLoaded = progress.bytes
    totalBytes = progress.totalBytes
    self.state = state
  }
}

/// The number that identifies an observer of a task.
public typealias LoadBundleObserverHandle = Int

/// A task that loads a bundle, and goes on when nobody holds it.
public final class LoadBundleTask: Sendable {
  private struct State {
    var last = LoadBundleTaskProgress(BundleProgress(), .inProgress)
    var failure: FirestoreError?
    var observers: [Int: UserCode<LoadBundleTaskProgress>] = [:]
    var lastHandle = 0
  }

  private typealias Delivery = (
    observers: [UserCode<LoadBundleTaskProgress>], progress: LoadBundleTaskProgress,
    failure: FirestoreError?
  )

  private let firestore: Firestore
  private let state = Mutex(State())
  private let completion: UserCode<(LoadBundleTaskProgress?, (any Error)?)>?

  init(
    _ firestore: Firestore, _ completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)?
  ) {
    self.firestore = firestore
    self.completion = completion.map { UserCode($0) }
  }

  /// Calls a block with each progress, on the callback queue. A block that is added after the task
  /// has ended gets the last progress.
  ///
  /// - Returns: what ends it.
  @discardableResult
  public func addObserver(
    _ observer: @escaping (LoadBundleTaskProgress) -> Void
  ) -> LoadBundleObserverHandle {
    let user = UserCode<LoadBundleTaskProgress>(observer)
    let (handle, ended) = state.withLock { state -> (Int, LoadBundleTaskProgress?) in
      state.lastHandle += 1
      if state.last.state != .inProgress { return (state.lastHandle, state.last) }
      state.observers[state.lastHandle] = user
      return (state.lastHandle, nil)
    }
    if let ended { firestore.deliver { user(ended) } }
    return handle
  }

  /// Ends an observer; unknown handles are ignored.
  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    state.withLock { _ = $0.observers.removeValue(forKey: handle) }
  }

  /// Ends all observers.
  public func removeAllObservers() { state.withLock { $0.observers = [:] } }

  /// Takes in what the engine tells; called on the callback queue.
  func take(_ result: Result<BundleProgress, FirestoreError>) {
    let delivery = state.withLock { state -> Delivery? in
      // A task that has ended reports nothing more.
      guard state.last.state == .inProgress else { return nil }
      switch result {
      case .success(let progress):
        state.last = LoadBundleTaskProgress(progress, progress.isDone ? .success : .inProgress)
      case .failure(let error):
        state.failure = error
        state.last = LoadBundleTaskProgress(state.last, .error)
      }
      let observers = state.observers.sorted { $0.key < $1.key }.map(\.value)
      if state.last.state != .inProgress { state.observers = [:] }
      return (observers, state.last, state.failure)
    }
    guard let (observers, progress, failure) = delivery else { return }
    for observer in observers { observer(progress) }
    switch progress.state {
    case .inProgress: break
    case .success: completion?((progress, nil))
    case .error:
      if let completion {
        completion((nil, failure))
      } else if let failure {
        firestore.report(failure)
      }
    }
  }
}

extension LoadBundleTaskProgress {
  /// The same numbers in another state.
  fileprivate init(_ other: LoadBundleTaskProgress, _ state: LoadBundleTaskState) {
    documentsLoaded = other.documentsLoaded
    totalDocuments = other.totalDocuments
    bytesLoaded = other.bytesLoaded
    totalBytes = other.totalBytes
    self.state = state
  }
}
