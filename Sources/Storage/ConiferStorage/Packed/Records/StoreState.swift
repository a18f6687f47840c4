import ConiferKeyValue
import ConiferLeafStore

/// What tells whether others have committed to a store meanwhile: the newest number, and the sign of
/// commits without one.
struct StoreState: Equatable {
  /// The row of the sign, random bits, beside that of the number.
  static let signKey = StoreKey.prefix(TreeID(rawValue: 0)) + [0x64]  // d

  private let commit: StoreCommit
  private let sign: Bytes?

  /// The state of a store; nil when it is not known.
  init?(_ view: any OrderedView) throws(StoreError) {
    guard let commit = try StoreCommit.read(view).commit else { return nil }
    self.commit = commit
    sign = try view.value(Spaces.usage, Self.signKey)
  }

  /// The payload of a new sign.
  static var newSign: Bytes { StoreKey.number(.random(in: .min ... .max)) }

  /// Whether the payload of a row is a sign.
  static func isSign(_ payload: Bytes) -> Bool { payload.count == 8 }
}
