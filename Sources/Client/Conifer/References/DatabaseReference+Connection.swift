// The Apple SDK has these on the class of references, for all databases of the app at once.
extension DatabaseReference {
  /// Disconnects all databases that the app has got from class methods of ``Database`` and uses; each stays so until
  /// ``goOnline()``.
  ///
  /// A database that is first used later connects, and so does one that the app made by itself.
  public static func goOffline() { DatabaseDirectory.common.goOffline() }

  /// Connects all databases that the app has got from class methods of ``Database`` and uses.
  public static func goOnline() { DatabaseDirectory.common.goOnline() }
}
