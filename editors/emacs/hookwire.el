;;; hookwire.el --- Hook definition files, through Eglot  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: languages, tools

;;; Commentary:

;; Files of a `.hookwire' directory get a major mode of their own, derived from the one that they
;; would have elsewhere, and `hookwire serve' as their language server.  Other YAML, TOML and JSON
;; files keep theirs.  Needs `hookwire' in `exec-path'.
;;
;;     (require 'hookwire)
;;     (add-hook 'hookwire-mode-hook #'eglot-ensure)

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'iso8601)
(require 'jsonrpc)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)

(declare-function eglot-uri-to-path "eglot" (uri))

(defvar hookwire-lens-mode)
(defvar-local hookwire--server nil
  "The server whose events this buffer lists.")

(defgroup hookwire nil
  "Hook definition files."
  :group 'tools
  :prefix "hookwire-")

(defcustom hookwire-command '("hookwire" "serve")
  "The language server: a program and its arguments."
  :type '(repeat string))

(defcustom hookwire-show-lenses t
  "Whether `hookwire-lens-mode' is on where the language server is."
  :type 'boolean)

(defcustom hookwire-mode-hook nil
  "Run in every hook definition file, whatever its format."
  :type 'hook
  :options '(eglot-ensure))

(defface hookwire-lens '((t :inherit shadow :height 0.9))
  "What can be done with a hook, above it.")


;;; Definition files

(defun hookwire--base-mode (fallback)
  "The major mode that the visited file would have elsewhere, or FALLBACK."
  (let* ((name (concat "/hooks." (file-name-extension (or buffer-file-name ""))))
         (mode (assoc-default name auto-mode-alist #'string-match-p))
         (mode (if (and mode (symbolp mode) (fboundp mode)) mode fallback)))
    (alist-get mode (bound-and-true-p major-mode-remap-alist) mode)))

(defun hookwire--project (dir)
  "The project of DIR, if it isn't what else it would be taken for."
  (let ((root (locate-dominating-file dir ".hookwire"))
        (other (let ((project-find-functions (default-value 'project-find-functions)))
                 (project-current nil dir))))
    (and root
         (not (and other (file-equal-p root (project-root other))))
         (cons 'transient root))))

(defun hookwire--enter (mode fallback)
  "Make MODE the major mode, on top of the usual one or FALLBACK."
  (delay-mode-hooks (funcall (hookwire--base-mode fallback)))
  (put mode 'derived-mode-parent major-mode)
  (setq major-mode mode
        mode-name (format "Hookwire/%s" mode-name))
  (add-hook 'project-find-functions #'hookwire--project -50 t)
  ;; Only here: an entry for yaml-mode that comes first in the global list would win otherwise.
  (setq-local eglot-server-programs
              `(((hookwire-yaml-mode hookwire-toml-mode hookwire-json-mode)
                 . (hookwire-server . ,hookwire-command))))
  (add-hook 'eglot-managed-mode-hook #'hookwire--managed nil t)
  (run-mode-hooks 'hookwire-mode-hook))

;;;###autoload
(defun hookwire-yaml-mode ()
  "Major mode for hook definitions in YAML."
  (interactive)
  (hookwire--enter 'hookwire-yaml-mode 'conf-colon-mode))

;;;###autoload
(defun hookwire-toml-mode ()
  "Major mode for hook definitions in TOML."
  (interactive)
  (hookwire--enter 'hookwire-toml-mode 'conf-toml-mode))

;;;###autoload
(defun hookwire-json-mode ()
  "Major mode for hook definitions in JSON."
  (interactive)
  (hookwire--enter 'hookwire-json-mode 'js-mode))

(put 'hookwire-yaml-mode 'eglot-language-id "yaml")
(put 'hookwire-toml-mode 'eglot-language-id "toml")
(put 'hookwire-json-mode 'eglot-language-id "json")

;;;###autoload
(defun hookwire-file-p ()
  "Whether the visited file is one of a `.hookwire' directory."
  (and buffer-file-name
       (string-match-p "/\\.hookwire/.*\\.\\(?:ya?ml\\|toml\\|json\\)\\'" buffer-file-name)))

;;;###autoload
(defun hookwire-mode ()
  "Major mode for hook definitions in the format of the visited file."
  (interactive)
  (pcase (downcase (or (file-name-extension (or buffer-file-name "")) ""))
    ("toml" (hookwire-toml-mode))
    ("json" (hookwire-json-mode))
    (_ (hookwire-yaml-mode))))

;; Not in `auto-mode-alist', where an entry for all YAML files that is added later comes first.
;;;###autoload
(add-to-list 'magic-mode-alist '(hookwire-file-p . hookwire-mode))


;;; The server

(defclass hookwire-server (eglot-lsp-server) ()
  :documentation "The language server `hookwire serve'.")

(cl-defmethod eglot-client-capabilities ((_server hookwire-server))
  "Also ask for a notification when something has changed, and show files."
  (let* ((all (copy-sequence (cl-call-next-method)))
         (window (copy-sequence (plist-get all :window))))
    (setq all (plist-put all :experimental '(:hookwire (:live t))))
    (plist-put all :window (plist-put window :showDocument '(:support t)))))

(cl-defmethod eglot-handle-request
  ((_server hookwire-server) (_method (eql 'window/showDocument)) &key uri &allow-other-keys)
  "Show the file that URI names, to be read."
  (let ((buffer (find-file-noselect (hookwire--path uri))))
    (with-current-buffer buffer (setq buffer-read-only t))
    (list :success (if (display-buffer buffer) t :json-false))))

(cl-defmethod eglot-handle-notification ((server hookwire-server) (_method (eql 'hookwire/live)) &rest _status)
  "Draw again what comes from SERVER."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (cond ((and hookwire-lens-mode (eq server (eglot-current-server))) (hookwire--refresh))
            ((and (derived-mode-p 'hookwire-events-mode) (eq server hookwire--server)
                  (get-buffer-window buffer t))
             (revert-buffer))))))

(cl-defmethod eglot-handle-notification
  ((_server hookwire-server) (_method (eql 'window/showMessage)) &key message &allow-other-keys)
  "Show MESSAGE as it is."
  (message "%s" message))

;; Tells as well that the server knows the last change.
(cl-defmethod eglot-handle-notification :after
  ((_server hookwire-server) (_method (eql 'textDocument/publishDiagnostics)) &key uri &allow-other-keys)
  "Draw the lenses of URI again."
  (when-let* ((buffer (find-buffer-visiting (hookwire--path uri))))
    (with-current-buffer buffer
      (when hookwire-lens-mode (hookwire--refresh)))))

(defun hookwire--path (uri)
  "The file that URI names."
  (if (fboundp 'eglot-uri-to-path) (eglot-uri-to-path uri) (eglot--uri-to-path uri)))

(defun hookwire--server ()
  "The server that this buffer talks to, otherwise any."
  (or hookwire--server
      (let ((of (lambda (buffer)
                  (with-current-buffer buffer
                    (let ((server (and (eglot-managed-p) (eglot-current-server))))
                      (and (cl-typep server 'hookwire-server) server))))))
        (or (funcall of (current-buffer)) (seq-some of (buffer-list))))
      (user-error "No definition file is open with Eglot")))

(defun hookwire--request (server method params done)
  "Ask SERVER for METHOD with PARAMS and call DONE, here, with the result."
  (let ((buffer (current-buffer)))
    (when (eglot-managed-p) (eglot--signal-textDocument/didChange))
    (jsonrpc-async-request
     server method params
     ;; As long as a hook takes.
     :timeout nil
     :success-fn (lambda (result)
                   (when (buffer-live-p buffer)
                     (with-current-buffer buffer (funcall done result))))
     :error-fn (lambda (problem)
                 ;; A document changed in the meantime: what it is now is what was meant.
                 (if (and (eq (plist-get problem :code) -32801) (buffer-live-p buffer))
                     (with-current-buffer buffer (hookwire--request server method params done))
                   (message "hookwire: %s" (plist-get problem :message)))))))

(defun hookwire--execute (command argument &optional done)
  "Have COMMAND carried out with ARGUMENT and call DONE with the result."
  (hookwire--request (hookwire--server) :workspace/executeCommand
                     (list :command command :arguments (vector argument))
                     (or done #'ignore)))


;;; Lenses

(defvar-local hookwire--overlays nil)

(defun hookwire--lenses (done)
  "Call DONE with the code lenses of this buffer, a list."
  (unless (eglot-managed-p) (user-error "Not a definition file, or without Eglot"))
  (hookwire--request (hookwire--server) :textDocument/codeLens
                     (list :textDocument (eglot--TextDocumentIdentifier))
                     (lambda (lenses) (funcall done (append lenses nil)))))

(defun hookwire--line (lens)
  "The line of LENS, counted from 0."
  (plist-get (plist-get (plist-get lens :range) :start) :line))

(defun hookwire--title (lens)
  "The text of LENS."
  (plist-get (plist-get lens :command) :title))

(defun hookwire--argument (lens)
  "What the command of LENS is about."
  (let ((arguments (plist-get (plist-get lens :command) :arguments)))
    (and (vectorp arguments) (> (length arguments) 0) (aref arguments 0))))

(defun hookwire--do (lens)
  "Carry out the command of LENS."
  (let ((command (plist-get lens :command)))
    (hookwire--request (hookwire--server) :workspace/executeCommand
                       (list :command (plist-get command :command)
                             :arguments (plist-get command :arguments))
                       #'ignore)))

(defun hookwire--button (lens)
  "LENS as a text to click at."
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-1] (lambda () (interactive) (hookwire--do lens)))
    (propertize (hookwire--title lens) 'face 'hookwire-lens 'mouse-face 'highlight 'keymap map)))

(defun hookwire--erase ()
  "Take the lenses away."
  (mapc #'delete-overlay hookwire--overlays)
  (setq hookwire--overlays nil))

(defun hookwire--draw (lenses)
  "Show LENSES above their lines."
  (hookwire--erase)
  (save-excursion
    (save-restriction
      (widen)
      (pcase-dolist (`(,line . ,group) (seq-group-by #'hookwire--line lenses))
        (goto-char (point-min))
        (forward-line line)
        (let ((overlay (make-overlay (point) (point)))
              (indentation (make-string (current-indentation) ?\s))
              (buttons (mapconcat #'hookwire--button group (propertize " | " 'face 'hookwire-lens))))
          (overlay-put overlay 'hookwire t)
          (overlay-put overlay 'before-string (concat indentation buttons "\n"))
          (push overlay hookwire--overlays))))))

(defun hookwire--refresh ()
  "Draw the lenses of this buffer again."
  (hookwire--lenses (lambda (lenses) (when hookwire-lens-mode (hookwire--draw lenses)))))

;;;###autoload
(define-minor-mode hookwire-lens-mode
  "Show above each hook what it has done and what can be done with it."
  :lighter nil
  (if hookwire-lens-mode
      (when (eglot-managed-p) (hookwire--refresh))
    (hookwire--erase)))

(defun hookwire--managed ()
  "Show lenses where the server is."
  (hookwire-lens-mode (if (and (eglot-managed-p) hookwire-show-lenses) 1 -1)))


;;; Commands

(defun hookwire--with-hook (do)
  "Call DO with the lenses of the hook at point, a list."
  (let ((here (1- (line-number-at-pos nil t))))
    (hookwire--lenses
     (lambda (lenses)
       (let* ((lenses (seq-filter (lambda (lens) (plist-get (hookwire--argument lens) :hook)) lenses))
              (before (seq-filter (lambda (lens) (<= (hookwire--line lens) here)) lenses))
              (line (if before (apply #'max (mapcar #'hookwire--line before))
                      (and lenses (hookwire--line (car lenses)))))
              (group (seq-filter (lambda (lens) (eq (hookwire--line lens) line)) lenses)))
         (if group (funcall do group) (message "hookwire: no hook here")))))))

(defun hookwire--about-hook (command)
  "Have COMMAND carried out for the hook at point."
  (hookwire--with-hook
   (lambda (lenses)
     (let ((about (hookwire--argument (car lenses))))
       ;; The server shows what comes of it.
       (hookwire--execute command (list :uri (plist-get about :uri) :hook (plist-get about :hook)))))))

;;;###autoload
(defun hookwire-run ()
  "Run the hook at point, as it stands, on the last event that fits it."
  (interactive)
  (hookwire--about-hook "hookwire.run"))

;;;###autoload
(defun hookwire-explain ()
  "Tell why the hook at point would run or not on the last event."
  (interactive)
  (hookwire--about-hook "hookwire.explain"))

;;;###autoload
(defun hookwire-matches ()
  "Tell the last events at which the hook at point ran."
  (interactive)
  (hookwire--about-hook "hookwire.matches"))

;;;###autoload
(defun hookwire-lens ()
  "Choose what to do with the hook at point from what is shown above it."
  (interactive)
  (hookwire--with-hook
   (lambda (lenses)
     (let* ((choices (mapcar (lambda (lens) (cons (hookwire--title lens) lens)) lenses))
            (choice (completing-read "Lens: " choices nil t)))
       (hookwire--do (cdr (assoc choice choices)))))))

;;;###autoload
(defun hookwire-trust ()
  "Show what is new in these definitions, and put it in force on a yes."
  (interactive)
  ;; The server asks and tells.
  (hookwire--execute "hookwire.trust" (if (hookwire-file-p) (eglot--TextDocumentIdentifier) (make-hash-table))))

;;;###autoload
(defun hookwire-reload ()
  "Have every running host load its definitions."
  (interactive)
  (hookwire--execute "hookwire.reload" (make-hash-table)
                     (lambda (result)
                       (message "hookwire: %s" (plist-get result :summary)))))

(defun hookwire--columns (event places)
  "EVENT as an entry of the list; PLACES are those of hooks."
  (let* ((text (lambda (key) (format "%s" (or (plist-get event key) ""))))
         (face (pcase (plist-get event :decision) ("deny" 'error) ("ask" 'warning)))
         (hook (plist-get event :decidedBy))
         (time (format-time-string "%H:%M:%S" (plist-get event :seconds))))
    (list (gethash hook places)
          (vector time
                  (funcall text :event)
                  (propertize (funcall text :decision) 'face face)
                  (funcall text :decidedBy)
                  (funcall text :subject)
                  (funcall text :reason)))))

(defun hookwire--places (roots)
  "Where the hooks of ROOTS are, by name."
  (let ((places (make-hash-table :test #'equal)))
    (seq-doseq (root roots)
      (seq-doseq (hook (plist-get root :hooks))
        (when (plist-get hook :range) (puthash (plist-get hook :name) hook places))))
    places))

(defun hookwire--list-events (&rest _)
  "Fill this buffer with the last events."
  (hookwire--execute
   "hookwire.hooks" (make-hash-table)
   (lambda (known)
     (let ((places (hookwire--places (plist-get known :roots))))
       (hookwire--execute
        "hookwire.events" (make-hash-table)
        (lambda (result)
          (setq tabulated-list-entries
                (mapcar (lambda (event) (hookwire--columns event places)) (plist-get result :events)))
          (tabulated-list-print t)))))))

(defun hookwire-events-visit ()
  "Go to the hook that decided the event at point."
  (interactive)
  (let ((hook (or (tabulated-list-get-id) (user-error "No hook decided here"))))
    (find-file-other-window (hookwire--path (plist-get hook :uri)))
    (goto-char (point-min))
    (forward-line (hookwire--line hook))))

(defvar hookwire-events-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'hookwire-events-visit)
    map)
  "Keys of `hookwire-events-mode'.")

(define-derived-mode hookwire-events-mode tabulated-list-mode "Hookwire-Events"
  "The events that running hosts judged last, newest first."
  (setq tabulated-list-format
        [("Time" 8 t) ("Event" 16 t) ("Decision" 8 t) ("Hook" 20 t) ("Subject" 40 nil) ("Reason" 0 nil)])
  (setq-local revert-buffer-function #'hookwire--list-events)
  (tabulated-list-init-header))

;;;###autoload
(defun hookwire-events ()
  "List the events that running hosts judged last."
  (interactive)
  (let ((server (hookwire--server)))
    (pop-to-buffer (get-buffer-create "*hookwire events*"))
    (unless (derived-mode-p 'hookwire-events-mode) (hookwire-events-mode))
    (setq hookwire--server server)
    (hookwire--list-events)))

(provide 'hookwire)
;;; hookwire.el ends here
