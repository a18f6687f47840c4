import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferStorage
import ConiferWire

/// A step of an engine's work: a call of the app, an event of a stream, or the end of work beside
/// the steps.
enum DocumentStep: Sendable {
  /// How a step depends on who is signed in, as `IdentityGate` has it.
  enum Need: Sendable {
    case none
    /// It is about the queue of who is signed in, and may change it.
    case queue(isChange: Bool)
    /// It is a read that must see the writes before it.
    case writesBefore
    /// It waits for the ends of the writes before it.
    case endsOfWrites
  }

  /// Nothing.
  case nothing
  /// Open the storage.
  case open
  case write([Mutation], WriteCaller)
  /// Somebody listens.
  case listen(ListenerBeginning)
  /// Nobody holds a receipt of a queued write any longer.
  case receiptReleased(OutboundWriteID)
  /// Something happened on the stream of listens with a number.
  case watch(StreamNumber, WatchStreamEvent)
  /// Something happened on the stream of writes with a number.
  case writeStream(StreamNumber, WriteStreamEvent)
  /// A token of the stream of writes with a number is as durable as the app's writes, or could not be made so.
  case tokenHardened(StreamNumber, StreamToken, Result<Void, DatabaseError>)
  /// The storage has met damage, maybe while no step used it.
  case storageDamaged
  /// A time has come that something waits for.
  case tick
  /// Somebody signed in or out.
  case tokenDidChange
  /// The token provider answered a question.
  case tokenAnswered(ProviderAnswer, UInt64)
  /// Run a closure between two other steps.
  case run(Need, @Sendable (DocumentLoop) -> Void)
  /// Send what waits to the authority in this process, using the network for that; the closure is called when it has
  /// answered, or does not for too long. What is asked for while the storage is suspended is not waited for.
  case handOver(@Sendable () -> Void)
  /// Let go of the storage until it is resumed; the closure is told why not.
  case suspend(@Sendable (FirestoreError?) -> Void)
  /// Go on with the storage.
  case resume(@Sendable (FirestoreError?) -> Void)
  case close(@Sendable () -> Void)
}

/// A listener that is to begin.
struct ListenerBeginning: Sendable {
  let id: ListenerID
  let query: DocumentQuery
  let options: ListenOptions
}

extension DocumentStep {
  /// Whether it queues a write.
  var isWrite: Bool { if case .write = self { true } else { false } }

  /// Whether it waits while the storage is suspended.
  var awaitsStorage: Bool {
    switch self {
    case .nothing, .handOver, .suspend, .resume, .close: false
    default: true
    }
  }

  /// Whether it may use the storage, so that housekeeping waits.
  var usesStorage: Bool {
    switch self {
    case .nothing, .tick, .receiptReleased: false
    default: true
    }
  }

  var dependence: IdentityGate<DocumentStep>.Dependence {
    switch self {
    case .write: .needsUser
    case .run(.queue(let isChange), _): .concernsQueue(isChange: isChange)
    case .run(.writesBefore, _): .followsWrites
    case .run(.endsOfWrites, _): .awaitsWrites
    default: .none
    }
  }
}
