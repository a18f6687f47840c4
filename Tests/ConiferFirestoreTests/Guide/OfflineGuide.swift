import ConiferFirestore
import Foundation

/// The lines of the vendor's guide to offline data, as an app on Apple's systems has them.
enum OfflineGuide {
  static func persistence() -> Firestore {
    let settings = FirestoreSettings()
    settings.isPersistenceEnabled = true

    // Any additional options
    // ...

    // Enable offline data persistence
    let db = Firestore.firestore()
    db.settings = settings
    return db
  }

  static func cacheSize() {
    // The default cache size threshold is 100 MB. Configure "cacheSizeBytes"
    // for a different threshold (minimum 1 MB) or set to "FirestoreCacheSizeUnlimited"
    // to disable clean-up.
    let settings = Firestore.firestore().settings
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    Firestore.firestore().settings = settings
  }

  static func listen(_ db: Firestore, _ print: @escaping (String) -> Void) {
    // Listen to metadata updates to receive a server snapshot even if
    // the data is the same as the cached data.
    db.collection("cities").whereField("state", isEqualTo: "CA")
      .addSnapshotListener(includeMetadataChanges: true) { querySnapshot, error in
        // swift-format-ignore: NeverForceUnwrap
        guard let snapshot = querySnapshot else {
          print("Error retreiving snapshot: \(error!)")
          return
        }

        for diff in snapshot.documentChanges {
          if diff.type == .added {
            print("New city: \(diff.document.data())")
          }
        }

        let source = snapshot.metadata.isFromCache ? "local cache" : "server"
        print("Metadata: Data fetched from \(source)")
      }
  }

  static func indexes() {
    // You will normally read this from a file asset or cloud storage.
    let indexConfigJson = """
        {
          "indexes": [
            {
              "collectionGroup": "cities",
              "queryScope": "COLLECTION",
              "fields": [
                {"fieldPath": "state", "order": "ASCENDING"},
                {"fieldPath": "population", "order": "DESCENDING"}
              ]
            }
          ],
          "fieldOverrides": []
        }
      """

    // Apply the configuration.
    Firestore.firestore().setIndexConfiguration(indexConfigJson)
  }

  static func disable(_ offline: @escaping () -> Void) {
    Firestore.firestore().disableNetwork { (error) in
      // Do offline things
      // ...
      offline()
    }
  }

  static func enable(_ online: @escaping () -> Void) {
    Firestore.firestore().enableNetwork { (error) in
      // Do online things
      // ...
      online()
    }
  }
}
