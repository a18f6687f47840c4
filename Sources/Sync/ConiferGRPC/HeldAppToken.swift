#if GRPC
  import ConiferEngine

  /// A token of the app that the provider gave, and whether it is still wanted.
  struct HeldAppToken {
    /// Why another one is wanted at once.
    enum Doubt {
      /// The app has another one.
      case changed
      /// The server took no call with it.
      case refused
    }

    let token: AppCheckToken
    /// When it ends, and from when on another one is asked for meanwhile, in milliseconds since 1970.
    private var expiry = Int64.max
    private var renewal = Int64.max
    var doubt: Doubt?

    /// How long before its end a token is replaced at most, in milliseconds.
    private static let longestMargin: Int64 = 300_000

    /// A token that came at a time of day.
    init(_ token: AppCheckToken, at now: Int64) {
      self.token = token
      // Where its end is past already, only the server can tell when it is over.
      guard let end = token.expiry, end > now else { return }
      expiry = end
      renewal = end - min(Self.longestMargin, end / 2 - now / 2)
    }

    func hasExpired(at now: Int64) -> Bool { now >= expiry }

    /// Whether another one is wanted.
    func isWanting(at now: Int64) -> Bool { doubt != nil || now >= renewal }
  }
#endif
