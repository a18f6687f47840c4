public import Conifer
public import Observation

/// The progress of a write, from the call to the server's answer, on the main actor.
@MainActor @Observable
public final class ObservedWrite {
  /// How far a write has come.
  public enum Progress: Sendable, Equatable {
    /// It is not queued yet.
    case waiting
    /// It is in the queue: listeners show it.
    case queued
    /// It is as durable as the configuration asks for, and waits for the server. A queued write that the disk could not
    /// make so stays queued, and is sent all the same.
    case durable
    /// The server has answered, or the app has given it up.
    case ended(WriteReceipt.Outcome)
    /// The database was closed before the server had answered: it is in the queue, and goes on in a later run.
    case closed
  }

  /// How far it has come.
  public private(set) var progress = Progress.waiting
  /// The write's id once it is queued, to ask for its outcome in a later run.
  public private(set) var id: WriteReceipt.ID?
  @ObservationIgnored private var following: Following?

  /// Begins to follow a write.
  public init(_ receipt: WriteReceipt) {
    following = Following { [weak self] in
      do throws(DatabaseError) {
        let id = try await receipt.id
        self?.id = id
        self?.progress = .queued
        // A sync that failed says nothing of the write, which is queued.
        if (try? await receipt.durable) != nil { self?.progress = .durable }
        let outcome = try await receipt.outcome
        self?.progress = .ended(outcome)
      } catch { self?.fail(error) }
    }
  }

  private func fail(_ error: DatabaseError) {
    switch error.code {
    case .cancelled: return
    case .closed: progress = id == nil ? .ended(.failed(error)) : .closed
    default: progress = .ended(.failed(error))
    }
  }
}
