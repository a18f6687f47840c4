internal import ConiferKeyValue
internal import Synchronization

/// What a broken store does wrong, by the place where it does so.
enum Fault: Sendable {
  /// With the edits of a batch.
  case edits(EditFault)
  /// With commits, their levels and numbers.
  case commits(CommitFault)
  /// With calls that fail.
  case failures(FailureFault)
  /// In views.
  case views(ViewFault)
  /// With its life, its owner, its sizes, and what it says of itself.
  case life(LifeFault)
  /// When it is opened again.
  case openings(OpeningFault)
  /// With bytes that were changed in its files.
  case damage(DamageFault)
  /// Nothing is tried: a variable of the environment is wrong.
  case variable(ConformanceFailure)

  /// What a store must keep beside its rows, so that it can do this.
  var keeps: MutationHistory.Kept {
    switch self {
    case .openings(let fault): fault.keeps
    case .life(let fault): fault.keeps
    default: .nothing
    }
  }

  /// Why it does not happen in a store in which its checks have seen none; nil for one that must happen.
  var reason: String? {
    if case .damage = self { DamageFault.reason } else { nil }
  }

  /// Whether it shows in a store alone that keeps its data.
  var needsFiles: Bool {
    switch self {
    case .openings, .damage: true
    case .commits(let fault): fault.needsFiles
    case .failures(let fault): !fault.isOfKeys
    case .life(let fault): fault.needsFiles
    case .edits, .views, .variable: false
    }
  }
}

/// What the stores of one mutation share: the fault, and how often it happened.
final class MutationSite: Sendable {
  /// What they do wrong; nil for nothing.
  let fault: Fault?
  let keeps: MutationHistory.Kept
  /// The open stores by their directories, for a fault that lets two owners in.
  let owners = Mutex<[String: MutatedStore]>([:])
  /// What was put, for faults with damaged rows.
  let known = Mutex(KnownRows())
  /// How many batches the fault might have befallen.
  let candidates = Atomic(0)
  private let times = Atomic(0)

  init(_ fault: Fault?, keeping keeps: MutationHistory.Kept) {
    self.fault = fault
    self.keeps = keeps
  }

  /// Whether its stores have rows of their own beside those that are put into them.
  var hasRows: Bool {
    if case .failures(.hoardsReserve)? = fault { true } else { keeps != .nothing }
  }

  /// Counts that the fault happened.
  func happened() { times.add(1, ordering: .relaxed) }

  /// How often the fault happened.
  var count: Int { times.load(ordering: .relaxed) }
}
