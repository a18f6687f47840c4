import ConiferDocument
import ConiferEngine
import ConiferFirestore
import ConiferWire
import Synchronization

/// A write of a program: a document of its own tells whether it was made, of most kinds.
final class ProgramWrite: Sendable {
  enum Kind: Sendable {
    /// It adds one to the counter, too.
    case counting
    /// It changes what others change, too.
    case shared
    /// It adds an element of its own to a set.
    case joining
    /// It is the same as another one, which comes with it, and only adds to a counter of such writes; no document tells
    /// whether it was made.
    case twin
    /// The server refuses it.
    case refused(FirestoreErrorCode.Code)
  }

  /// What names it among all writes of a program.
  let name: String
  let kind: Kind
  let user: String
  let receipt: Mutex<WriteReceipt?> = Mutex(nil)
  private let madeIn = Mutex(0)
  /// How often the user may have changed before it was made.
  var era: Int {
    get { madeIn.withLock { $0 } }
    set { madeIn.withLock { $0 = newValue } }
  }
  private let ends = Mutex<[FirestoreErrorCode.Code?]>([])

  init(_ name: String, _ kind: Kind, by user: String) {
    self.name = name
    self.kind = kind
    self.user = user
  }

  /// How often the app was told the end, and with what.
  var told: [FirestoreErrorCode.Code?] { ends.withLock { $0 } }

  func ended(_ error: FirestoreError?) { ends.withLock { $0.append(error?.code) } }
}
