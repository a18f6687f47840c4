/// Whether a model has heard what it shows, and why not.
public enum ObservedPhase<Failure: Error>: Sendable {
  /// Nothing was heard yet.
  case waiting
  /// It shows what was heard last.
  case current
  /// What was heard last could not be decoded; what was heard before stays, and the next change is heard.
  case failed(Failure)
  /// No more will be heard, also when somebody else signs in. The error says why, such as that the place may not be read
  /// or the database was closed; it is nil when all observers were removed. What was heard before stays; to hear more,
  /// make another model.
  case ended(Failure?)
}

extension ObservedPhase {
  /// Whether it shows what was heard last.
  public var isCurrent: Bool { if case .current = self { true } else { false } }

  /// Why it does not; nil while nothing has failed.
  public var error: Failure? {
    switch self {
    case .waiting, .current: nil
    case .failed(let error): error
    case .ended(let error): error
    }
  }
}

extension ObservedPhase: Equatable where Failure: Equatable {}
