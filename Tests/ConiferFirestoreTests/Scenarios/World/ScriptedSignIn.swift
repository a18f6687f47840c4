import ConiferEngine
import Synchronization

/// A sign-in in which a test says who the user is.
final class ScriptedSignIn: TokenProvider {
  private let state: Mutex<String?> = Mutex(nil)

  /// Who is signed in; nil for nobody.
  var user: String? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// The text of a user's token; nil for nobody.
  static func token(of user: String?) -> String? { user.map { "token of \($0)" } }

  func token(forcingRefresh: Bool) async throws -> AuthToken? {
    user.map { AuthToken("token of \($0)", identity: $0) }
  }
}
