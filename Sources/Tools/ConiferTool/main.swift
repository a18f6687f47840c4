print("conifer")
