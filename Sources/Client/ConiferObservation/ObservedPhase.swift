/// Whether a model has heard what it shows, and why not.
public enum ObservedPhase<Failure: Error>: Sendable {
  /// Nothing was heard yet.
  case waiting
  /// It shows what was heard last.
  case current
  /// What was heard last could not be decoded, or no more will be heard; what was heard before stays.
  case failed(Failure)
}

extension ObservedPhase {
  /// Whether it shows what was heard last.
  public var isCurrent: Bool { if case .current = self { true } else { false } }

  /// Why it does not; nil while nothing has failed.
  public var error: Failure? { if case .failed(let error) = self { error } else { nil } }
}

extension ObservedPhase: Equatable where Failure: Equatable {}
