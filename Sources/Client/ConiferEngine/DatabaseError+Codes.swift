// What the app asked for is invalid; nothing was done.
extension DatabaseError.Code {
  /// A path or key is empty, too long, too deep, or holds a forbidden character.
  public static let invalidPath = Self(rawValue: "invalid-path")
  /// A value cannot be stored: it is no JSON, too large, not finite, or a malformed server value.
  public static let invalidValue = Self(rawValue: "invalid-value")
  /// A priority is neither a string, a finite number nor a server value.
  public static let invalidPriority = Self(rawValue: "invalid-priority")
  /// An update writes a place and also the same place or one below it, or names no place.
  public static let invalidUpdate = Self(rawValue: "invalid-update")
  /// A query is invalid.
  public static let invalidQuery = Self(rawValue: "invalid-query")
  /// A URL is none of this database's.
  public static let invalidURL = Self(rawValue: "invalid-url")
  /// A configuration is invalid.
  public static let invalidConfiguration = Self(rawValue: "invalid-configuration")
  /// The place is the client's own `.info`, which nobody writes or pins.
  public static let readOnly = Self(rawValue: "read-only")
  /// A value could not be made into the type that was asked for, or a type not into a value.
  public static let coding = Self(rawValue: "coding")
}

// What the server or the way to it said.
extension DatabaseError.Code {
  /// The server's rules do not allow it.
  public static let permissionDenied = Self(rawValue: "permission-denied")
  /// The server cannot answer now.
  public static let unavailable = Self(rawValue: "unavailable")
  /// The token's time is over.
  public static let expiredToken = Self(rawValue: "expired-token")
  /// The server does not take the token.
  public static let invalidToken = Self(rawValue: "invalid-token")
  /// The data is larger than the server takes.
  public static let tooLarge = Self(rawValue: "too-large")
  /// The server refused for another reason.
  public static let refused = Self(rawValue: "refused")
  /// There is no connection, and the cache has not all that was asked for.
  public static let disconnected = Self(rawValue: "disconnected")
  /// The cache has not all that was asked for, and the server was not to be asked.
  public static let notCached = Self(rawValue: "not-cached")
  /// The connection broke after it was sent, so nobody knows whether it was done.
  public static let outcomeUnknown = Self(rawValue: "outcome-unknown")
}

// What became of writes and transactions here.
extension DatabaseError.Code {
  /// The app purged what was waiting.
  public static let writeCanceled = Self(rawValue: "write-canceled")
  /// The app discarded this write.
  public static let discarded = Self(rawValue: "discarded")
  /// Another write at the place ended the transaction.
  public static let overridden = Self(rawValue: "overridden-by-set")
  /// The transaction was run 25 times, and the data changed each time.
  public static let tooManyRetries = Self(rawValue: "max-retries")
  /// What was to be forgotten is in use: it is listened to, a transaction runs there, or it is kept synced.
  public static let inUse = Self(rawValue: "in-use")
  /// The store knows no such write, or no longer.
  public static let unknownWrite = Self(rawValue: "unknown-write")
}

// What the storage said, and the rest.
extension DatabaseError.Code {
  /// The disk is full; reading and draining the queue go on.
  public static let storageFull = Self(rawValue: "storage-full")
  /// Another process, or another database here, has the store open.
  public static let storageBusy = Self(rawValue: "storage-busy")
  /// There is no store yet, and who reads beside its owner makes none.
  public static let storageMissing = Self(rawValue: "storage-missing")
  /// Stored bytes are not what was written.
  public static let storageDamaged = Self(rawValue: "storage-damaged")
  /// The storage failed for another reason; the cause says which.
  public static let storageFailure = Self(rawValue: "storage-failure")
  /// A listener took so long that events it had not read would have filled the memory.
  public static let overflow = Self(rawValue: "overflow")
  /// The task that waited was cancelled; what it waited for goes on.
  public static let cancelled = Self(rawValue: "cancelled")
  /// The database was closed.
  public static let closed = Self(rawValue: "closed")
  /// A mistake in Conifer.
  public static let `internal` = Self(rawValue: "internal")
}

extension DatabaseError.Code {
  /// What to do about it; nil for an invalid call, whose message says it.
  package var remedy: String? {
    switch self {
    case .readOnly: "Choose a place outside of .info."
    case .coding: "Make the type fit the data at the place, or the data the type."
    case .permissionDenied: "Sign in as somebody who may do this, or change the server's rules."
    case .unavailable: "Try again later."
    case .expiredToken: "Give the database a new token; waiting writes go on then."
    case .invalidToken: "Check the token provider, and whether the token is for this database."
    case .tooLarge: "Split the data into several writes."
    case .refused: "Change what is asked for as the server's words say."
    case .disconnected: "Wait for a connection, or observe the place while there is one."
    case .notCached: "Read from the server, or observe the place or keep it synced for some time."
    case .outcomeUnknown: "Read the place to see whether it was done."
    case .writeCanceled: "Write again what is still wanted."
    case .discarded: "Write it again if it is wanted after all."
    case .overridden: "Run the transaction again if it is still wanted."
    case .unknownWrite:
      "Take the ids of waiting and refused writes from pendingWrites and rejectedWrites."
    case .inUse:
      "End the listeners and transactions there and call keepSynced(false); then call it again."
    case .tooManyRetries: "Run it again when fewer others write there."
    case .storageFull: "Free space on the disk, then write again."
    case .storageBusy: "Close the other owner; a store is open once at a time."
    case .storageMissing: "Let the app open its database once, and name the same directory."
    case .storageDamaged: "Check the store with conifer verify; cached data is fetched again."
    case .storageFailure: "Remove the cause, then open the database again."
    case .overflow: "Read the sequence faster, or observe less."
    case .cancelled: "Wait again in another task if the result is wanted."
    case .closed: "Open the database again; what waits to be sent is kept."
    case .internal: "Report it with the cause."
    default: nil
    }
  }
}
